import Foundation
import KerberosTesting
import Testing

/// Delegation of a forwardable ticket according to the profile's two lists, to an Apache that stores the delegated ticket.
struct DelegationTests {
    struct Case: CustomTestStringConvertible {
        let list: String
        let host: String
        let isTrusted: Bool
        let isDelegated: Bool

        var testDescription: String { "\(list): \(host), \(isTrusted ? "trusted" : "not trusted") by the KDC" }

        static let all = [
            Case(list: "DelegationHosts", host: "localhost", isTrusted: true, isDelegated: true),
            Case(list: "DelegationHosts", host: "localhost", isTrusted: false, isDelegated: false),
            Case(list: "DelegationHosts", host: "other.example.test", isTrusted: true, isDelegated: false),
            Case(list: "UnconditionalDelegationHosts", host: "localhost", isTrusted: false, isDelegated: true),
            Case(list: "UnconditionalDelegationHosts", host: "other.example.test", isTrusted: true, isDelegated: false),
        ]
    }

    @Test(arguments: Case.all) func `a ticket is delegated only to hosts in the profile's delegation lists`(variant: Case) async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            if variant.isTrusted { _ = try await realm.kadmin(["modify_principal", "+ok_as_delegate", "HTTP/localhost"]) }
            let station = try Workstation(realm: realm)
            try station.install("\(variant.list): [\(variant.host)]\n" + profile())
            try await station.signIn()
            #expect(try await flags(of: "krbtgt", in: station.cache, realm).contains("F"), "the ticket is forwardable")
            try await withProtectedWebServer(realm: realm, .init(storesDelegatedTickets: true)) { server in
                #expect(try await station.ksso("fetch", "\(server.url)/hello") == .done("Hello alice@EXAMPLE.TEST\n"))
                let caches = try server.delegatedCaches()
                #expect(Array(caches.keys) == (variant.isDelegated ? ["alice@EXAMPLE.TEST"] : []))
                guard let cache = caches["alice@EXAMPLE.TEST"] else { return }
                #expect(try await flags(of: "krbtgt", in: cache, realm).contains("f"), "the ticket was forwarded")
                let isTrusted = try await flags(of: "HTTP", in: station.cache, realm).contains("O")
                #expect(isTrusted == variant.isTrusted)
            }
        }
    }

    /// The flags of alice's ticket for a service, in klist's letters.
    private func flags(of service: String, in cache: String, _ realm: TestRealm) async throws -> String {
        let listing = try await realm.run("klist", ["-f", cache]).output
        #expect(listing.contains("Default principal: alice@EXAMPLE.TEST\n"), "\(listing)")
        let ticket = try #require(listing.components(separatedBy: "  \(service)/").dropFirst().first, "\(listing)")
        return String(try #require(ticket.firstMatch(of: /Flags: (\w+)/), "\(listing)").1)
    }
}
