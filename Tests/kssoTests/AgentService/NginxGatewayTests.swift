import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `Examples/nginx-gateway` as it is: a program with no Kerberos reaches a protected server through nginx, which asks the agent.
@Suite(
    .enabled(if: StockProgram.nginx != nil, "nginx is missing: Scripts/install-packages unpacks it"),
    .testRealm(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/localhost"])
)
struct NginxGatewayTests {
    let realm: TestRealm

    init() throws {
        realm = try #require(TestRealm.current)
    }

    private func station() throws -> Workstation {
        let station = try Workstation(realm: realm)
        try station.install(profile())
        return station
    }

    /// What the server has answered, which it writes down a little later.
    private func lines(of server: ProtectedWebServer, count: Int) async throws -> [Substring] {
        var lines: [Substring] = []
        try await eventually {
            lines = try server.accessLog().split(separator: "\n")
            return lines.count >= count
        }
        #expect(lines.count == count)
        return lines
    }

    @Test(arguments: [false, true], [false, true])
    func `a program without Kerberos is signed in`(connectionBound: Bool, usesTLS: Bool) async throws {
        let station = try station()
        let options = ProtectedWebServerOptions(connectionBound: connectionBound, usesTLS: usesTLS)
        try await withProtectedWebServer(realm: realm, options) { server in
            try await withServingAgent(at: station) {
                try await station.signIn()
                let gateway = Gateway(station, upstream: server.url, trusting: usesTLS ? server.certificatePath : nil)
                try await gateway.run {
                    // Over one connection of curl's, and with a header of its own, which nginx replaces.
                    let pages = ["/hello", "/other?a=b|c&d=%20", "/hello"]
                    let replies = try await gateway.curl(pages, "-H", "Authorization: Negotiate YQ==")
                    let text = ["Hello", "Other", "Hello"].map { "\($0) alice@EXAMPLE.TEST\n200\n" }.joined()
                    #expect(replies == .done(text))
                    let body = try station.write(String(repeating: "x", count: 200_000), to: "body")
                    #expect(try await gateway.curl(["/hello"], "--data-binary", "@\(body)") == .done("Hello alice@EXAMPLE.TEST\n200\n"))
                }
                #expect(try await lines(of: server, count: 4).allSatisfy { $0.hasPrefix("200 - alice@EXAMPLE.TEST ") })
            }
        }
    }

    /// In bytes; in base64 it is a third more, and with that the most that fits into 64 KiB.
    @Test(arguments: [8_192, 47_000])
    func `a large token fits`(size: Int) async throws {
        // The KDC's log counts: it is the test's alone.
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            let station = try Workstation(realm: realm)
            try station.install(profile())
            try await withProtectedWebServer(realm: realm) { server in
                try await withServingAgent(at: station) {
                    try await station.signIn()
                    try await store(ticketOf: size, station)
                    let gateway = Gateway(station, upstream: server.url)
                    let reply = try await gateway.run { try await gateway.curl(["/hello"]) }
                    #expect(reply == .done("Hello alice@EXAMPLE.TEST\n200\n"))
                    #expect(try realm.issued(.serviceTicket) == 1, "it was the large ticket, and no other")
                }
            }
        }
    }

    /// Puts a ticket into the agent's cache that is as large as those of a user in many groups.
    private func store(ticketOf size: Int, _ station: Workstation) async throws {
        let realm = station.realm
        let files = ["\(station.directory)/run/krb5.conf", realm.configurationPath]
        let client = KerberosClient(RealmConfiguration(realm: realm.name, base: .files(files), defaultCacheName: "KCM:"))
        let name = try #require(try await station.status().sessions.first?.cache)
        let cache = CredentialCacheName(rawValue: name)
        #expect(cache.type == "KCM")
        let service = try Principal("HTTP/localhost", defaultRealm: realm.name)
        let data = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let ticket = try await client.serviceTicket(for: service, in: cache, authorizationData: data)
        try await client.store(ticket, in: cache)
    }

    @Test func `nothing reaches the host without a ticket`() async throws {
        let station = try station()
        try await withProtectedWebServer(realm: realm) { server in
            let gateway = Gateway(station, upstream: server.url)
            try await gateway.run {
                try await withServingAgent(at: station) {
                    #expect(try await gateway.status("/hello") == 401, "nobody is signed in")
                    try await station.signIn()
                    #expect(try await gateway.status("/hello") == 200)
                    #expect(try await gateway.status("/.sign-in") == 404, "it is nginx's own")
                }
                #expect(try await gateway.status("/hello") == 500, "no agent runs")
                try await withServingAgent(at: station) {
                    try await station.signIn()
                    #expect(try await gateway.status("/hello") == 200, "nginx finds the next one")
                }
            }
            #expect(try await lines(of: server, count: 2).allSatisfy { $0.hasPrefix("200 - alice@EXAMPLE.TEST ") })
        }
    }

    /// The profile covers localhost; its address is another host.
    @Test func `a host that no rule covers is refused`() async throws {
        let station = try station()
        try await withProtectedWebServer(realm: realm) { server in
            try await withServingAgent(at: station) {
                try await station.signIn()
                let gateway = Gateway(station, upstream: "http://127.0.0.1:\(server.port)")
                let statuses = try await gateway.run {
                    [
                        try await gateway.status("/hello"),
                        try await gateway.status("/hello", "-H", "X-Original-URL: \(server.url)/hello"),
                    ]
                }
                #expect(statuses == [403, 403])
                #expect(try server.accessLog() == "")
            }
        }
    }

    @Test func `two users have two gateways`() async throws {
        let alice = try station()
        let bob = try station()
        try await withProtectedWebServer(realm: realm, .init(connectionBound: true)) { server in
            try await withServingAgent(at: alice) {
                try await withServingAgent(at: bob) {
                    try await alice.signIn("alice")
                    try await bob.signIn("bob")
                    let gateways = (Gateway(alice, upstream: server.url), Gateway(bob, upstream: server.url))
                    try await gateways.0.run {
                        try await gateways.1.run {
                            for _ in 0..<3 {
                                let replies = (try await gateways.0.curl(["/hello"]), try await gateways.1.curl(["/hello"]))
                                #expect(replies.0 == .done("Hello alice@EXAMPLE.TEST\n200\n"))
                                #expect(replies.1 == .done("Hello bob@EXAMPLE.TEST\n200\n"))
                            }
                        }
                    }
                }
            }
        }
    }

    /// The socket of the agent is opened to everybody here: that the peer is another user is what counts.
    @Test(.enabled(if: geteuid() == 0, "another user's nginx needs root"))
    func `another users nginx gets nothing`() async throws {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            let station = try Workstation(realm: realm)
            try station.install(profile())
            try await withProtectedWebServer(realm: realm) { server in
                try await withServingAgent(at: station) {
                    try await station.signIn()
                    for path in [realm.directory, station.directory, "\(station.directory)/run"] { #expect(chmod(path, 0o711) == 0) }
                    #expect(chmod("\(station.directory)/run/agent.sock", 0o666) == 0)
                    let gateway = Gateway(station, upstream: server.url, user: "nobody nogroup")
                    let status = try await gateway.run { try await gateway.status("/hello") }
                    // The agent does not listen to it at all.
                    #expect(status == 500)
                    #expect(try server.accessLog() == "")
                }
            }
        }
    }
}
