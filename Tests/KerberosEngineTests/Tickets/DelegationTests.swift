import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

/// The user's own ticket is forwarded only to the servers in a delegation list of the profile. Each client here is its own process because
/// GSSAPI finds the KDC through `KRB5_CONFIG`.
@Suite(
    .testRealm(users: ["alice": "secret"], services: ["HTTP/plain.example.test", "HTTP/trusted.example.test"]),
    .timeLimit(.minutes(15))
)
struct DelegationTests {
    /// The columns: the profile's delegation, the host, whether its server gets the ticket.
    @Test(
        .exitTest,
        arguments: [
            (.none, "plain", false), (.none, "trusted", false), (.byPolicy, "plain", false), (.byPolicy, "trusted", true),
            (.always, "plain", true), (.always, "trusted", true),
        ] as [(Delegation, String, Bool)]
    )
    func `profile and KDC decide where the ticket is forwarded`(delegation: Delegation, host: String, isDelegated: Bool) async throws {
        let home = try await makeHome(delegation)
        // The ticket is forwardable, so that only the profile can prevent delegation.
        try await home.makeExtension().signIn("alice", using: .secret, options: .init(isForwardable: true))
        let client = try ClientProcess(home)
        await #expect(processExitsWith: .success) {
            [
                client = client as ClientProcess, host = host as String, delegation = delegation.rawValue as String,
                isDelegated = isDelegated as Bool
            ] in
            client.begin()
            let kerberos = try client.makeExtension()
            for _ in 0..<2 {  // with a ticket from the KDC, then from the cache
                let grant = try await kerberos.grant("\(host).example.test")
                try #require(grant.identity.delegation.rawValue == delegation)
                let server = try Acceptance(grant.token, keytab: client.keytabPath)
                try #require(server.flags.contains(.delegation) == isDelegated)
                try #require(try await grant.exchange.respond(to: server.reply) == .established)
                try #require(grant.exchange.isDelegated == isDelegated)
                // A ready grant never asks the KDC for a ticket to forward.
                let url = try #require(URL(string: "https://\(host).example.test/"))
                try #require((await kerberos.readyGrant(for: .init(url: url)) == nil) == isDelegated)
            }
            endChildProcess()
        }
    }

    /// The rules name one host; another host of the same extension, in the same process, gets no ticket, even if its service is the same.
    @Test(.exitTest) func `delegation to one host does not extend to another host of the same service`() async throws {
        var home = try await makeHome(.none)
        home.options.configurations[0].unconditionalDelegationHosts = [try HostRule("plain.example.test")]
        home.options.configurations[0].servicePrincipals[try Origin(url: "https://plain.example.test")] = "HTTP/trusted.example.test"
        try await home.makeExtension().signIn("alice", using: .secret)
        let client = try ClientProcess(home)
        await #expect(processExitsWith: .success) { [client = client as ClientProcess] in
            client.begin()
            let kerberos = try client.makeExtension()
            for (host, isDelegated) in [("plain", true), ("trusted", false), ("plain", true)] {
                let grant = try await kerberos.grant("\(host).example.test")
                try #require(grant.exchange.isDelegated == isDelegated)
                try #require(try Acceptance(grant.token, keytab: client.keytabPath).flags.contains(.delegation) == isDelegated)
            }
            endChildProcess()
        }
    }

    @Test(.exitTest) func `delegation works without mutual authentication`() async throws {
        let home = try await makeHome(.always)
        try await home.makeExtension().signIn("alice", using: .secret)
        let client = try ClientProcess(home)
        await #expect(processExitsWith: .success) { [client = client as ClientProcess] in
            client.begin()
            let grant = try await client.makeExtension().grant(origin: "https://plain.example.test", mutualAuthentication: .off)
            try #require(grant.exchange.isDelegated)
            try #require(try Acceptance(grant.token, keytab: client.keytabPath).flags.isSuperset(of: .delegation))
            endChildProcess()
        }
    }

    /// By default kinit requests no forwardable ticket; the client knows without asking the KDC that it would refuse.
    @Test(.testRealm(users: ["alice": "secret"], services: ["HTTP/plain.example.test", "HTTP/trusted.example.test"]))
    func `a ticket that is not forwardable is not delegated and the request succeeds`() async throws {
        let home = try await makeHome(.always)
        try await home.kinit("alice")
        let grant = try await home.makeExtension().grant("plain.example.test")
        #expect(!grant.exchange.isDelegated)
        #expect(try !Acceptance(grant.token, keytab: home.realm.keytabPath).flags.contains(.delegation))
        let realm = home.realm.name
        #expect(try home.realm.received(.serviceTicket, client: "alice", server: "krbtgt/\(realm)") == 0)
    }

    @Test(.exitTest) func `without a KDC in the process's krb5.conf nothing is delegated and the request succeeds`() async throws {
        let home = try await makeHome(.always)
        try await home.makeExtension().signIn("alice", using: .secret)
        let file = "\(home.directory)/empty.conf"
        try "[libdefaults]\n    dns_lookup_kdc = false\n".write(toFile: file, atomically: true, encoding: .utf8)
        let client = try ClientProcess(home, configurationPath: file)
        await #expect(processExitsWith: .success) { [client = client as ClientProcess] in
            client.begin()
            let kerberos = try client.makeExtension()
            let grant = try await kerberos.grant("plain.example.test")
            try #require(!grant.exchange.isDelegated)
            let url = try #require(URL(string: "https://plain.example.test/"))
            let reasons = await kerberos.explanation(for: url).reasons.filter { $0.rule == "delegation" }
            try #require(reasons.last?.detail.contains("names no KDC of EXAMPLE.TEST") == true)
            endChildProcess()
        }
    }

    /// The caller's choice precedes the profile's; without a delegation list krb5.conf decides.
    @Test(
        arguments: [(.none, nil, false), (.byPolicy, nil, true), (.always, nil, true), (.always, false, false), (.none, true, true)]
            as [(Delegation, Bool?, Bool)]
    )
    func `a ticket is forwardable if the profile needs that`(delegation: Delegation, asked: Bool?, isForwardable: Bool) async throws {
        let home = try await makeHome(delegation)
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret, options: .init(isForwardable: asked))
        let listing = try await home.run("klist", ["-f"]).output
        let flags = try #require(listing.split(separator: "Flags: ").last).prefix { $0.isLetter }
        #expect(flags.contains("F") == isForwardable, "\(listing)")
    }

    private func makeHome(_ delegation: Delegation) async throws -> CacheHome {
        let realm = try #require(TestRealm.current)
        _ = try await realm.kadmin(["modify_principal", "+ok_as_delegate", "HTTP/trusted.example.test"])
        var home = try CacheHome(realm)
        let rules = [try HostRule(".example.test")]
        switch delegation {
        case .none: break
        case .byPolicy: home.options.configurations[0].delegationHosts = rules
        case .always: home.options.configurations[0].unconditionalDelegationHosts = rules
        }
        return home
    }
}
