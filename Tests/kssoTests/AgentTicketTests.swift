import Foundation
import KerberosTesting
import TestSupport
import Testing

/// The agent's service tickets when the key of their server changes.
@Suite(.timeLimit(.minutes(5)))
struct AgentTicketTests {
    private func withServer(_ body: (Workstation, ProtectedWebServer, _ page: String) async throws -> Void) async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            try await withProtectedWebServer(realm: realm) { server in
                let station = try Workstation(realm: realm)
                try station.install(profile())
                try await body(station, server, "\(server.url)/hello")
            }
        }
    }

    private static let greeting = CommandResult.done("Hello alice@EXAMPLE.TEST\n")

    @Test func `a ticket issued before the server's key changed is replaced for every program`() async throws {
        try await withServer { station, server, page in
            let curl = ["ksso", "exec", "--", "curl", "-sS", "--negotiate", "-u", ":", page]
            try await station.withAgent { _ in
                try await station.signIn()
                #expect(try await station.ksso("fetch", page) == Self.greeting)
                try await station.realm.rotateKeys(of: "HTTP/localhost", keepingOld: false, in: server.keytabPath)
                #expect(try await station.run(curl).output.contains("401"))
                #expect(try await station.ksso("fetch", page) == Self.greeting)
                #expect(try await station.run(curl) == Self.greeting)
                let list = try await station.run(["ksso", "exec", "--", "klist"]).output
                #expect(list.split(separator: "\n").count { $0.contains("  HTTP/localhost@") } == 1, "\(list)")
            }
        }
    }
}
