import Testing

@testable import NegotiateProxy

@Suite struct ProxyRouteTests {
    @Test(arguments: [
        (ProxyRoute.direct, "DIRECT"), (.upstream(ProxyServer(host: "Proxy.example", port: 3128)), "PROXY proxy.example:3128"),
        (.upstream(ProxyServer(host: "2001:DB8::1", port: 8080)), "PROXY [2001:db8::1]:8080"),
    ])
    func `A route is described as a PAC file writes it`(route: ProxyRoute, text: String) {
        #expect(route.description == text)
    }
}
