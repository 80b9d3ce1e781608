import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@testable import NegotiateProxy

/// curl through the proxy, with a real KDC, Apache with mod_auth_gssapi, and squid with negotiate_kerberos_auth.
@Suite(.testRealm(users: ["alice": "alice-secret"], services: ["HTTP/localhost"]))
struct RealServerTests {
    @Test func `a client without Kerberos is authenticated at Apache`() async throws {
        let sso = try await TestRealm.required().signedInExtension()
        try await withProtectedWebServer(realm: try TestRealm.required()) { server in
            let url = server.url
            let output = try await withProxy(credentials: sso) { proxy in
                try await curl(["-x", proxy.url, "\(url)/hello", "\(url)/other", "\(url)/open"])
            }
            #expect(output == "Hello alice@EXAMPLE.TEST\nOther alice@EXAMPLE.TEST\nopen\n")
        }
    }

    @Test(arguments: [false, true]) func `bodies of any size are accepted by Apache`(isConnectionBound: Bool) async throws {
        let sso = try await TestRealm.required().signedInExtension()
        let realm = try TestRealm.required()
        let file = realm.newPath()
        try Data(repeating: 0x78, count: 3_000_000).write(to: URL(filePath: file))
        try await withProtectedWebServer(realm: realm, ProtectedWebServerOptions(connectionBound: isConnectionBound)) { server in
            let url = server.url
            let output = try await withProxy(credentials: sso) { proxy in
                let small = try await curl(["-x", proxy.url, "-d", "name=value", "\(url)/hello", "\(url)/hello"])
                let large = try await curl(["-x", proxy.url, "--data-binary", "@\(file)", "\(url)/hello"])
                let chunked = try await curl([
                    "-x", proxy.url, "-H", "Transfer-Encoding: chunked", "-T", file, "-X", "POST", "\(url)/hello",
                ])
                return small + large + chunked
            }
            #expect(output == String(repeating: "Hello alice@EXAMPLE.TEST\n", count: 4))
        }
    }

    @Test func `a client that knows Kerberos authenticates itself at an origin that is not covered`() async throws {
        let realm = try TestRealm.required()
        let sso = try await TestRealm.required().signedInExtension(hosts: ["other.example"])
        let cache = "FILE:\(realm.newPath())"
        _ = try await realm.succeeded("kinit", ["-c", cache, "alice"], input: "alice-secret\n")
        try await withProtectedWebServer(realm: realm, ProtectedWebServerOptions(connectionBound: true)) { server in
            let url = server.url
            let output = try await withProxy(credentials: sso) { proxy in
                let arguments = ["-sS", "-x", proxy.url, "--negotiate", "-u", ":", "\(url)/hello", "\(url)/other"]
                return try await realm.run("curl", arguments, environment: ["KRB5CCNAME": cache]).output
            }
            #expect(output == "Hello alice@EXAMPLE.TEST\nOther alice@EXAMPLE.TEST\n")
        }
    }

    @Test(arguments: [true, false]) func `squid gets a ticket for requests and for tunnels`(keepsConnection: Bool) async throws {
        // squid proves its identity neither with 200 nor for a tunnel.
        let sso = try await TestRealm.required().signedInExtension(hosts: ["other.example"], unproven: ["localhost"])
        let realm = try TestRealm.required()
        var options = SquidProxyOptions()
        options.keepsConnection = keepsConnection
        try await withSquidProxy(realm: realm, options) { squid in
            let routes = ScriptedRoutes(.upstream(ProxyServer(host: "localhost", port: squid.port)))
            try await withProtectedWebServer(realm: realm) { server in
                let url = server.url
                let (plain, tunnel, posted) = try await withProxy(credentials: sso, routes: routes) { proxy in
                    (
                        try await curl(["-x", proxy.url, "\(url)/open", "\(url)/open"]),
                        try await curl(["-p", "-x", proxy.url, "\(url)/open"]),
                        try await curl(["-x", proxy.url, "-d", "name=value", "\(url)/open"])
                    )
                }
                #expect(plain == "open\nopen\n")
                #expect(tunnel == "open\n")
                #expect(posted == "open\n")
            }
            let log = try squid.accessLog()
            #expect(log.contains("200 CONNECT localhost:"), "\(log)")
            #expect(log.contains(" alice@EXAMPLE.TEST "), "\(log)")
        }
    }

    @Test func `an origin behind squid gets a ticket, too`() async throws {
        let sso = try await TestRealm.required().signedInExtension(unproven: ["localhost"])
        let realm = try TestRealm.required()
        try await withSquidProxy(realm: realm) { squid in
            let routes = ScriptedRoutes(.upstream(ProxyServer(host: "localhost", port: squid.port)))
            try await withProtectedWebServer(realm: realm) { server in
                let url = server.url
                let output = try await withProxy(credentials: sso, routes: routes) { proxy in
                    try await curl(["-x", proxy.url, "\(url)/hello", "\(url)/other"])
                }
                #expect(output == "Hello alice@EXAMPLE.TEST\nOther alice@EXAMPLE.TEST\n")
            }
        }
    }

    @Test func `a squid that the profile does not name gets no ticket`() async throws {
        let sso = try await TestRealm.required().signedInExtension(proxies: [])
        let realm = try TestRealm.required()
        try await withSquidProxy(realm: realm) { squid in
            let routes = ScriptedRoutes(.upstream(ProxyServer(host: "localhost", port: squid.port)))
            let output = try await withProxy(credentials: sso, routes: routes) { proxy in
                try await curl(["-v", "-p", "-x", proxy.url, "http://a.example/"])
            }
            #expect(output.contains("ProxyHosts of "), "\(output)")
            #expect(try !squid.accessLog().contains("alice"))
        }
    }
}
