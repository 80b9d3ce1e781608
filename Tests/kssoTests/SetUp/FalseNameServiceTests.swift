import Foundation
import KerberosTesting
import TestSupport
import Testing

/// Spoofed name resolution that maps the profile's host to another host with a service: ksso does not request that service's ticket.
@Suite(.enabled(if: LoadableLibrary.nameService != nil, "nss_wrapper is missing: Scripts/install-packages unpacks it"))
struct FalseNameServiceTests {
    enum Spoofing: String, CaseIterable {
        /// The effect of a CNAME record.
        case canonicalName = "127.0.0.1 ca.corp.test intranet.example.test\n"
        case reverseLookup = "127.0.0.1 ca.corp.test\n127.0.0.1 intranet.example.test\n"
    }

    private static let host = "intranet.example.test"
    private static let settings = ["dns_canonicalize_hostname", "rdns"]

    /// Also with a krb5.conf that does not set whether libkrb5 canonicalizes names with DNS: by default it does.
    @Test(arguments: Spoofing.allCases, [true, false])
    func `spoofed name resolution does not change the service principal`(spoofing: Spoofing, usesLibraryDefaults: Bool) async throws {
        try await withSpoofedNames(spoofing, usesLibraryDefaults) { station, environment in
            try await withAcceptorServer(realm: station.realm) { server in
                let url = "http://\(Self.host):\(server.port)/"
                #expect(try await station.ksso("fetch", url, environment: environment) == .done("Hello alice@EXAMPLE.TEST\n"))
                try await expectTicketOfTheURLsHost(station)

                // curl leaves the name to libkrb5, which shows that the spoofing works.
                let arguments = ["curl", "-sS", "--max-time", "120", "--negotiate", "-u", ":", url]
                #expect(try await station.run(arguments, environment: environment) == .done("Hello alice@EXAMPLE.TEST\n"))
                let requested = try services(station.realm)
                #expect(requested == (usesLibraryDefaults ? ["HTTP/ca.corp.test", "HTTP/\(Self.host)"] : ["HTTP/\(Self.host)"]))
            }
        }
    }

    @Test(.enabled(if: OwnAuthorities.arePossible, "this machine allows no mount namespaces"), arguments: Spoofing.allCases)
    func `spoofed name resolution does not change the service principal for HTTPS`(spoofing: Spoofing) async throws {
        try await withSpoofedNames(spoofing, true) { station, environment in
            let identity = try await station.realm.makeServerIdentity(host: Self.host)
            try await withAcceptorServer(realm: station.realm, .init(identity: identity)) { server in
                let fetch = ["ksso", "fetch", "https://\(Self.host):\(server.port)/"]
                let command = OwnAuthorities.command(trusting: identity.certificatePath, fetch)
                #expect(try await station.run(command, environment: environment) == .done("Hello alice@EXAMPLE.TEST\n"))
                try await expectTicketOfTheURLsHost(station)
            }
        }
    }

    private func expectTicketOfTheURLsHost(_ station: Workstation) async throws {
        #expect(try services(station.realm) == ["HTTP/\(Self.host)"])
        let tickets = try await station.realm.run("klist", [station.cache]).output
        #expect(tickets.contains("HTTP/\(Self.host)@EXAMPLE.TEST\n"))
        #expect(!tickets.contains("corp.test"))
    }

    /// The services for which the KDC received requests, whether it issued a ticket or not.
    private func services(_ realm: TestRealm) throws -> [String] {
        let names = try realm.log().split(separator: "\n").compactMap { line in
            line.contains(" TGS_REQ ") ? line.firstMatch(of: /\ for ([^@\s]+)@/).map { String($0.1) } : nil
        }
        return Set(names).sorted()
    }

    /// Runs a closure with a workstation where alice is signed in, and the variables of a child process with spoofed name resolution.
    private func withSpoofedNames(
        _ spoofing: Spoofing,
        _ usesLibraryDefaults: Bool,
        _ body: (Workstation, [String: String]) async throws -> Void
    ) async throws {
        let library = try #require(LoadableLibrary.nameService)
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/\(Self.host)", "HTTP/ca.corp.test"]) { realm in
            let station = try Workstation(realm: realm)
            try station.install(profile(hosts: [Self.host]))
            try await station.signIn()
            var environment = [
                "LD_PRELOAD": library.path, "NSS_WRAPPER_HOSTS": try station.write(spoofing.rawValue, to: "hosts"),
                "NSS_WRAPPER_DISABLE_DEEPBIND": "1",  // because the sanitizers do not support deep binding
            ]
            if usesLibraryDefaults {
                let lines = try String(contentsOfFile: realm.configurationPath, encoding: .utf8).split(separator: "\n")
                let others = lines.filter { line in !Self.settings.contains { line.contains("\($0) =") } }
                #expect(others.count == lines.count - Self.settings.count)
                environment["KRB5_CONFIG"] = try station.write(others.joined(separator: "\n") + "\n", to: "krb5.conf")
            }
            try await body(station, environment)
        }
    }
}
