import Foundation
import KerberosTesting
import TestSupport
import Testing

/// A name service says that the profile's host is really another one, which has a service too. Who believes it brings that one's ticket.
@Suite(.enabled(if: LoadableLibrary.nameService != nil, "nss_wrapper is missing: Scripts/install-packages unpacks it"))
struct LyingNameServiceTests {
    enum Lie: String, CaseIterable {
        /// What a CNAME does.
        case canonicalName = "127.0.0.1 ca.corp.test intranet.example.test\n"
        case reverseLookup = "127.0.0.1 ca.corp.test\n127.0.0.1 intranet.example.test\n"
    }

    private static let host = "intranet.example.test"
    private static let settings = ["dns_canonicalize_hostname", "rdns"]

    /// Also where krb5.conf leaves it to libkrb5 whether DNS is asked: it is.
    @Test(arguments: Lie.allCases, [true, false])
    func `a lying name service changes no service principal`(lie: Lie, isLeftToTheLibrary: Bool) async throws {
        try await withLiar(lie, isLeftToTheLibrary) { station, environment in
            try await withAcceptorServer(realm: station.realm) { server in
                let url = "http://\(Self.host):\(server.port)/"
                #expect(try await station.ksso("fetch", url, environment: environment) == .done("Hello alice@EXAMPLE.TEST\n"))
                try await expectTicketOfTheURLsHost(station)

                // That it is a lie shows in curl, which leaves the name to libkrb5.
                let arguments = ["curl", "-sS", "--max-time", "20", "--negotiate", "-u", ":", url]
                #expect(try await station.run(arguments, environment: environment) == .done("Hello alice@EXAMPLE.TEST\n"))
                let asked = try services(station.realm)
                #expect(asked == (isLeftToTheLibrary ? ["HTTP/ca.corp.test", "HTTP/\(Self.host)"] : ["HTTP/\(Self.host)"]))
            }
        }
    }

    @Test(.enabled(if: OwnAuthorities.arePossible, "this machine allows no mount namespaces"), arguments: Lie.allCases)
    func `a lying name service changes no service principal of HTTPS`(lie: Lie) async throws {
        try await withLiar(lie, true) { station, environment in
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

    /// The services for which the KDC was asked, whether it gave a ticket or not.
    private func services(_ realm: TestRealm) throws -> [String] {
        let names = try realm.log().split(separator: "\n").compactMap { line in
            line.contains(" TGS_REQ ") ? line.firstMatch(of: /\ for ([^@\s]+)@/).map { String($0.1) } : nil
        }
        return Set(names).sorted()
    }

    /// Runs a closure with alice, who is signed in, and the variables of a child process whose name service lies.
    private func withLiar(
        _ lie: Lie,
        _ isLeftToTheLibrary: Bool,
        _ body: (Workstation, [String: String]) async throws -> Void
    ) async throws {
        let library = try #require(LoadableLibrary.nameService)
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/\(Self.host)", "HTTP/ca.corp.test"]) { realm in
            let station = try Workstation(realm: realm)
            try station.install(profile(hosts: [Self.host]))
            try await station.signIn()
            var environment = [
                "LD_PRELOAD": library.path, "NSS_WRAPPER_HOSTS": try station.write(lie.rawValue, to: "hosts"),
                "NSS_WRAPPER_DISABLE_DEEPBIND": "1",  // with which no sanitizer lives
            ]
            if isLeftToTheLibrary {
                let lines = try String(contentsOfFile: realm.configurationPath, encoding: .utf8).split(separator: "\n")
                let others = lines.filter { line in !Self.settings.contains { line.contains("\($0) =") } }
                #expect(others.count == lines.count - Self.settings.count)
                environment["KRB5_CONFIG"] = try station.write(others.joined(separator: "\n") + "\n", to: "krb5.conf")
            }
            try await body(station, environment)
        }
    }
}
