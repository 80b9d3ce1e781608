import Foundation
import HTTPNegotiate
import HTTPTypes
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SSOAgentClient
import TestSupport
import Testing

@testable import SSOAgent

/// Authorization requests to a running agent, and its status.
@Suite(
    .testRealm(
        users: ["alice": "secret"],
        services: ["HTTP/www.example.test", "HTTP/cold.example.test", "HTTP/refused.example.test", "HTTP/localhost"]
    )
)
struct AuthorizeTests {
    @Test func `a server accepts the agent's token and the server's token verifies`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            let grant = try await agent.client().grant("https://www.example.test/")
            #expect(grant.principal == "alice@EXAMPLE.TEST")
            #expect(grant.servicePrincipal == "HTTP/www.example.test@EXAMPLE.TEST")
            #expect(!grant.exchange.isDelegated)
            let acceptance = try Acceptance(grant.token, keytab: realm.keytabPath)
            #expect(acceptance.client == "alice@EXAMPLE.TEST")
            #expect(try await grant.exchange.respond(to: acceptance.reply) == .established)
            #expect(agent.api.exchanges.count == 0)
        }
    }

    @Test func `an invalid token from the server fails and ends the exchange`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            let grant = try await agent.client().grant("https://www.example.test/")
            await #expect { try await grant.exchange.respond(to: [1, 2, 3]) } throws: {
                ($0 as? AuthorizationError)?.code == .invalidResponse
            }
            let reply = try Acceptance(grant.token, keytab: realm.keytabPath).reply
            await #expect { try await grant.exchange.respond(to: reply) } throws: { ($0 as? AuthorizationError)?.code == .unknownExchange }
        }
    }

    @Test func `a refused exchange remains until its ticket is replaced`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            let host = "refused.example.test"
            let grant = try await agent.client().grant("https://\(host)/")
            let refusal = RefusalToken.bytes(code: 44, host: host, realm: realm.name)
            await #expect { try await grant.exchange.respond(to: refusal) } throws: {
                ($0 as? AuthorizationError)?.code == .refusedByServer
            }
            #expect(agent.api.exchanges.count == 1)
            #expect(await grant.exchange.replaceRefusedTicket())
            #expect(agent.api.exchanges.count == 0)
            #expect(try realm.issued(.serviceTicket, client: "alice", server: "HTTP/\(host)") == 2)
            #expect(await !grant.exchange.replaceRefusedTicket())
        }
    }

    @Test(arguments: ["https://www.example.test/", "http://www.example.test.evil.test/", "https://127.0.0.1/", "http://localhost:8080/x"])
    func `a client decides about a URL as its agent does`(url: String) async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            let url = try #require(URL(string: url))
            let client = try await agent.client()
            #expect(client.decision(for: url) == agent.kerberos.decision(for: url))
            guard case .notHandled(let reasons) = try await client.beginAuthorization(with: .init(url: url)) else {
                #expect(client.decision(for: url).plan != nil)
                return
            }
            #expect(reasons == client.decision(for: url).reasons)
        }
    }

    @Test(arguments: [AuthorizationOperation.login, .refresh, .logout, .init(rawValue: "unheard-of")])
    func `login, refresh and logout return the agent's reply, others are not handled`(operation: AuthorizationOperation) async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm, signedIn: false) { agent in
            let options = InitialCredentialOptions(renewableLifetime: .seconds(7200))
            try await agent.kerberos.signIn("alice", using: .password(Secret("secret")), options: options)
            let request = AuthorizationRequest(url: try #require(URL(string: "https://www.example.test/")), operation: operation)
            switch try await agent.client().beginAuthorization(with: request) {
            case .headers: Issue.record("\(operation) has no header")
            case .notHandled(let reasons): #expect(operation.rawValue == "unheard-of" && reasons.map(\.rule) == ["operation"])
            case .completed(nil): #expect(operation == .logout)
            case .completed(let reply?):
                #expect(operation == .login || operation == .refresh)
                let session = try #require(try await agent.kerberos.sessions().sessions.first)
                #expect(reply.userPrincipalName == "alice@EXAMPLE.TEST" && reply.realm == "EXAMPLE.TEST")
                #expect(reply.cache == session.cache.rawValue && reply.passwordExpires == nil)
                // The API transmits whole seconds.
                #expect(abs(reply.ticketExpires.timeIntervalSince(session.ticketExpires)) <= 1 && reply.renewUntil != nil)
            }
        }
    }

    @Test func `a client gets the same notSignedIn error as in the agent's own process`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm, signedIn: false) { agent in
            let request = AuthorizationRequest(url: try #require(URL(string: "https://www.example.test/")))
            do {
                _ = try await agent.client().beginAuthorization(with: request)
                Issue.record("the request returned a token")
            } catch {
                let direct = await #expect(throws: AuthorizationError.self) { try await agent.kerberos.beginAuthorization(with: request) }
                #expect(error as? AuthorizationError == direct)
                let problem = try #require((error as? AuthorizationError)?.cause as? AgentProblem)
                #expect(problem.status == 409 && problem.code == "notSignedIn")
            }
        }
    }

    @Test func `a client has the same identity for a URL as its agent`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            let client = try await agent.client()
            let covered = AuthorizationRequest(url: try #require(URL(string: "https://www.example.test/")))
            #expect(try await client.identity(for: covered) == agent.kerberos.identity(for: covered))
            let other = AuthorizationRequest(url: try #require(URL(string: "https://www.evil.test/")))
            #expect(try await client.identity(for: other) == nil)
        }
    }

    @Test func `the agent's status has its sessions, their services and the state of its process`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            let client = try await agent.client()
            _ = try await client.grant("https://www.example.test/")
            let status = try await client.status()
            #expect(status.agent)
            #expect(status.sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
            #expect(status.sessions.first?.services.map(\.service) == ["HTTP/www.example.test@EXAMPLE.TEST"])
            #expect(status.process?.processID == getpid())
            #expect(status.process?.exchanges == 1)
            #expect(status.process?.connections == 1)
        }
    }

    @Test func `two hundred requests for a service without a cached ticket cost one TGS request`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            // Each request has its own client, and thus its own connection.
            let tokens = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for _ in 0..<200 {
                    group.addTask { try await AgentClient(socketPath: agent.socketPath).grant("https://cold.example.test/").token }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(tokens.count == 200)
            #expect(try realm.issued(.serviceTicket, client: "alice", server: "HTTP/cold.example.test") == 1)
        }
    }
}

extension CredentialExtension {
    /// Returns the grant that answers a Negotiate challenge of a URL.
    func grant(_ text: String) async throws -> AuthorizationGrant {
        guard let url = URL(string: text), case .headers(let grant) = try await beginAuthorization(with: .init(url: url)) else {
            throw AuthorizationError(.notHandled, "\(text) is not handled.")
        }
        return grant
    }
}

extension AuthorizationGrant {
    /// The token of the `Authorization` field.
    var token: [UInt8] {
        let value = headers[.authorization] ?? ""
        return Data(base64Encoded: String(value.dropFirst("Negotiate ".count))).map { Array($0) } ?? []
    }
}
