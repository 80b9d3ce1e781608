import Foundation
import KerberosTesting
import Testing

/// `ksso header`, which prints an `Authorization` field for another program.
@Suite(.protectedWeb)
struct HeaderTests {
    let station: Workstation
    let server: ProtectedWebServer

    init() throws {
        station = try Workstation()
        server = try #require(WebTrait.server)
        try station.install(profile())
    }

    private var page: String { "\(server.url)/hello" }

    @Test func `curl accepts the field that ksso header prints`() async throws {
        try await station.signIn()
        let command = "set -o pipefail; ksso header \(page) | curl -sS --fail -H @- \(page)"
        #expect(try await station.run(["bash", "-c", command]) == .done("Hello alice@EXAMPLE.TEST\n"))
    }

    @Test func `ksso header prints one line, with a new token each time`() async throws {
        try await station.signIn()
        let result = try await station.ksso("header", page)
        #expect(result.output.wholeMatch(of: /Authorization: Negotiate YII[A-Za-z0-9+\/]+={0,2}\n/) != nil)
        #expect(result.errors == "")
        #expect(result.exitStatus == 0)
        #expect(try await station.ksso("header", page).output != result.output, "each token can be used only once")
    }

    @Test func `with a cached service ticket ksso header needs no KDC`() async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            let station = try Workstation(realm: realm)
            try station.install(profile())
            try await station.signIn()
            #expect(try await station.ksso("header", page).exitStatus == 0)
            try await realm.stopKDC()
            #expect(try await station.ksso("header", page).exitStatus == 0)
        }
    }

    @Test func `ksso header without a session exits with status 5`() async throws {
        let result = try await station.ksso("header", page)
        #expect(result == .failure(5, "not signed in to EXAMPLE.TEST. Sign in with: ksso login"))
    }

    @Test func `ksso header exits with status 3 for a host that no rule covers`() async throws {
        let url = "https://evil.test/"
        let path = "\(station.directory)/config/ksso/test.yaml"
        let reason =
            "No host rule of realm EXAMPLE.TEST (\(path)) covers evil.test. Check the spelling. To have it answered, add it to Hosts of \(path)."
        #expect(try await station.ksso("header", url) == .failure(3, "\(url) is not answered: \(reason) See: ksso explain \(url)"))
    }

    @Test func `ksso header reports a service that the KDC does not know`() async throws {
        try station.install(profile(hosts: ["absent.example.test"]))
        try await station.signIn()
        let result = try await station.ksso("header", "https://absent.example.test/")
        #expect(result.exitStatus == 1)
        #expect(result.output == "")
        #expect(result.errors.hasPrefix("ksso: HTTP/absent.example.test"), "\(result.errors)")
        #expect(result.errors.contains("the KDC does not know this service."), "\(result.errors)")
    }

    @Test func `the profile's principal is used even if another one is the default`() async throws {
        try station.install(profile(data: ["principalName: bob"]))
        try await station.signIn("alice")
        #expect(try await station.ksso("header", page).exitStatus == 5)
        try await station.signIn("bob")
        try await station.signIn("alice")
        #expect(try await station.ksso("fetch", page) == .done("Hello bob@EXAMPLE.TEST\n"))
    }
}
