import Foundation
import KerberosTesting
import TestSupport
import Testing

private let password = "Secret-1x"

extension TestDomainOptions {
    /// Alice is in groups of the domain, each of which takes 8 bytes of her tickets.
    fileprivate static let withGroups: TestDomainOptions = {
        var options = TestDomainOptions(users: ["alice", "bob"].map { .init($0, password: password) }, services: ["HTTP/localhost"])
        options.entries = (0..<700).map { number in
            .init(
                "CN=staff-\(number),CN=Users",
                [
                    "objectClass": ["group"], "sAMAccountName": ["staff-\(number)"], "groupType": ["-2147483644"],
                    "member": ["CN=alice,CN=Users,$domain"] + (number < 300 ? ["CN=bob,CN=Users,$domain"] : []),
                ]
            )
        }
        return options
    }()
}

/// Tickets of a domain controller for users in many groups.
@Suite(.serialized, .needsDomain, .testDomain(.withGroups))
struct DomainGroupTests {
    let station: Workstation
    let domain: TestDomain

    init() throws {
        domain = try #require(TestDomainTrait.current)
        station = try Workstation(realm: domain.realm)
        try station.install(profile(realm: domain.realm.name))
    }

    private func login(_ name: String) async throws {
        let result = try await station.ksso("login", name, "--password-stdin", "-q", input: "\(password)\n")
        #expect(result.exitStatus == 0, "\(result)")
    }

    @Test func `ksso explain warns about the ticket of a user in 700 groups`() async throws {
        try await login("alice")
        let header = try await station.ksso("header", "http://localhost/")
        #expect(header.exitStatus == 0 && header.output.utf8.count > 8_190, "\(header.output.utf8.count)")
        let result = try await station.ksso("explain", "http://localhost/")
        #expect(result.output.contains("The header field with this ticket has about "), "\(result)")
        #expect(result.output.contains("large_client_header_buffers in nginx"), "\(result)")
    }

    @Test func `a server with the usual limit refuses the token of a user in 700 groups with advice`() async throws {
        try await login("alice")
        try await withProtectedWebServer(realm: domain.realm) { server in
            let result = try await station.ksso("fetch", "\(server.url)/hello")
            #expect(result == .done("Hello alice@AD.TEST\n"))
        }
        try await withProtectedWebServer(realm: domain.realm, .init(maximumFieldSize: 8_190)) { server in
            let result = try await station.ksso("fetch", "\(server.url)/hello")
            #expect(result.exitStatus == 1 && result.errors.contains("LimitRequestFieldSize"), "\(result)")
        }
    }

    /// Domain controllers write the groups of a domain once, and the number of each group.
    @Test func `a server with the usual limit accepts the token of a user in 300 groups`() async throws {
        try await login("bob")
        try await withProtectedWebServer(realm: domain.realm, .init(maximumFieldSize: 8_190)) { server in
            let result = try await station.ksso("fetch", "\(server.url)/hello")
            #expect(result == .done("Hello bob@AD.TEST\n"))
        }
    }
}
