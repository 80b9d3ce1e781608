import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// With `Examples/nginx-gateway`, a program without Kerberos reaches a protected server through nginx, which gets tokens from the agent.
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

    /// The lines of the server's access log, which it writes a little after each response.
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
    func `the gateway signs in to the upstream for a client without Kerberos`(connectionBound: Bool, usesTLS: Bool) async throws {
        let station = try station()
        let options = ProtectedWebServerOptions(connectionBound: connectionBound, usesTLS: usesTLS)
        try await withProtectedWebServer(realm: realm, options) { server in
            try await withServingAgent(at: station) {
                try await station.signIn()
                let gateway = Gateway(station, upstream: server.url, trusting: usesTLS ? server.certificatePath : nil)
                try await gateway.run {
                    // curl uses one connection, and sends its own Authorization field, which nginx replaces.
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

    /// The sizes are in bytes. In base64, 47,000 bytes grow by a third and only just fit into 64 KiB.
    @Test(arguments: [8_192, 47_000])
    func `the gateway forwards a token of almost 64 KiB`(size: Int) async throws {
        // The test counts tickets in the KDC's log, so it needs its own realm.
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
                    #expect(try realm.issued(.serviceTicket) == 1, "only the large ticket was requested")
                }
            }
        }
    }

    /// Stores a ticket in the agent's cache that is as large as that of a user in many groups.
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

    @Test func `the gateway forwards no request without a ticket or without an agent`() async throws {
        let station = try station()
        try await withProtectedWebServer(realm: realm) { server in
            let gateway = Gateway(station, upstream: server.url)
            try await gateway.run {
                try await withServingAgent(at: station) {
                    #expect(try await gateway.status("/hello") == 401, "no one is signed in")
                    try await station.signIn()
                    #expect(try await gateway.status("/hello") == 200)
                    #expect(try await gateway.status("/.sign-in") == 404, "the location is internal to nginx")
                }
                #expect(try await gateway.status("/hello") == 500, "no agent runs")
                try await withServingAgent(at: station) {
                    try await station.signIn()
                    #expect(try await gateway.status("/hello") == 200, "nginx connects to the next agent")
                }
            }
            #expect(try await lines(of: server, count: 2).allSatisfy { $0.hasPrefix("200 - alice@EXAMPLE.TEST ") })
        }
    }

    /// The profile covers localhost, but not its address 127.0.0.1.
    @Test func `the gateway refuses an upstream that no profile covers`() async throws {
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

    @Test func `the gateways of two users sign in as different principals`() async throws {
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

    /// The permissions of the agent's socket admit every user here, so that only the peer's user ID decides.
    @Test(.enabled(if: geteuid() == 0, "only root can run nginx as another user"))
    func `an nginx of another user gets no token from the agent`() async throws {
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
                    // The agent closes the connection without a reply.
                    #expect(status == 500)
                    #expect(try server.accessLog() == "")
                }
            }
        }
    }
}
