import AsyncHTTPClient
import Foundation
import HTTPNegotiate
import KerberosTesting
import NIOCore
import NegotiateAsyncHTTPClient
import SSOAgentClient
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

    /// Sends requests to a page as a program that has no tickets: the agent answers the server's challenges.
    ///
    /// - Parameter change: Changes the server's key after the first request.
    private func fetchTwice(_ page: String, on station: Workstation, _ change: () async throws -> Void) async throws {
        try await station.withAgent { _ async throws in
            try await station.signIn()
            let agent = try await AgentClient.connect(socketPath: "\(station.runtime)/agent.sock")
            try await NegotiatingHTTPClient.withClient(extension: agent) { client in
                func fetch() async throws {
                    let answer = try await client.negotiate(HTTPClientRequest(url: page), timeout: .seconds(60))
                    let body = String(buffer: try await answer.response.body.collect(upTo: 1 << 16))
                    #expect(body == Self.greeting.output && answer.delivery == .authenticated, "\(answer.delivery): \(body)")
                }
                try await fetch()
                try await change()
                for _ in 1...2 { try await fetch() }
            }
            #expect(try await station.agentStatus().process.exchanges == 0)
        }
        #expect(try station.realm.issued(.serviceTicket, client: "alice", server: "HTTP/localhost") == 2)
    }

    @Test func `a client of the agent's API gets another ticket when the server refuses the cached one`() async throws {
        try await withServer { station, server, page in
            try await fetchTwice(page, on: station) {
                try await station.realm.rotateKeys(of: "HTTP/localhost", keepingOld: false, in: server.keytabPath)
            }
        }
    }

    @Test func `a client of the agent's API gets another ticket when the server refuses without a reason`() async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            try await withAcceptorServer(realm: realm) { server in
                let station = try Workstation(realm: realm)
                try station.install(profile())
                try await fetchTwice("\(server.url)/", on: station) {
                    try await realm.rotateKeys(of: "HTTP/localhost", keepingOld: false)
                }
            }
        }
    }
}
