import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SSOAgentClient
import TestSupport
import Testing

@testable import SSOAgent

private let options = TestRealmOptions(services: ["HTTP/www.example.test"], acceptsPasswordChanges: true)

/// Password changes through the agent, and the events that report them, with a real kadmind.
@Suite(.testRealm(options)) struct PasswordTests {
    let realm: TestRealm

    init() throws { realm = try #require(TestRealm.current) }

    @Test func `a password change keeps the session's tickets`() async throws {
        let user = try await realm.newUser()
        try await RunningAgent.run(in: realm, signedIn: false) { agent in
            let client = try await agent.client()
            try await client.login(user, using: .password(Secret("secret")))
            let url = try #require(URL(string: "https://www.example.test/"))
            _ = try await client.beginAuthorization(with: AuthorizationRequest(url: url))
            let before = try await client.status().sessions
            let change = try await client.changePassword(of: user, from: Secret("secret"), to: Secret("fresh secret"))
            #expect(change.principal == "\(user)@\(realm.name)" && change.passwordExpires == nil)
            #expect(try await client.status().sessions == before)
            #expect(before.first?.services.count == 1)
            try await client.login(user, using: .password(Secret("fresh secret")))
        }
    }

    private static let refusals: [(old: String, new: String, status: Int, code: String)] = [
        ("wrong", "fresh secret", 422, "wrongPassword"), ("secret", "short", 422, "passwordRefused"),
    ]

    @Test(arguments: refusals)
    func `a refused change is reported without the new password`(old: String, new: String, status: Int, code: String) async throws {
        let policy = "policy\(UUID().uuidString)"
        _ = try await realm.kadmin(["add_policy", "-minlength", "8", policy])
        let user = try await realm.newUser()
        _ = try await realm.kadmin(["modify_principal", "-policy", policy, user])
        try await RunningAgent.run(in: realm, signedIn: false) { agent in
            let body = #"{"principal": "\#(user)", "password": "\#(old)", "newPassword": "\#(new)"}"#
            let reply = try await agent.curl(["--data", body, "http://ksso/v1/password"])
            #expect(reply.status == status)
            let problem = try AgentJSON.decode(AgentProblem.self, from: Data(reply.body.utf8))
            #expect(problem.code == code && !problem.detail.contains("fresh secret"))
            if code == "passwordRefused" { #expect(problem.detail.contains("too short")) }
        }
    }

    @Test(arguments: ["{}", #"{"password": "x"}"#, "[]", #"{"password": 1, "newPassword": "x"}"#])
    func `a malformed request to change a password is refused with status 400`(body: String) async throws {
        try await RunningAgent.run(in: realm, signedIn: false) { agent in
            let reply = try await agent.curl(["--data", body, "http://ksso/v1/password"])
            #expect(reply.status == 400)
            #expect(try AgentJSON.decode(AgentProblem.self, from: Data(reply.body.utf8)).code == "malformedRequest")
        }
    }

    /// The agent sees the change by a mark in the cache that all programs share.
    @Test(.timeLimit(.minutes(2))) func `a password change by another program is reported as an event`() async throws {
        let home = try KeptHome(realm)
        let user = try await realm.newUser()
        try await home.makeExtension().signIn(user, using: .password(Secret("secret")))
        try await home.withKeeper { keeper, events in
            let change = try await home.makeExtension().changePassword(of: user, from: Secret("secret"), to: Secret("fresh secret"))
            home.clock.advance(by: 50)
            keeper.poke()
            let event = try await events.next(.passwordChanged)
            #expect(event.principal == "\(user)@\(realm.name)" && event.realm == realm.name && event.date == change.changed)
        }
    }

    @Test(.timeLimit(.minutes(2))) func `a password that expires soon is reported as an event`() async throws {
        let home = try KeptHome(realm)
        let user = try await realm.newUser("-pwexpire \"3 days\"")
        let session = try await home.makeExtension().signIn(user, using: .password(Secret("secret")))
        try await home.withKeeper { _, events in
            let event = try await events.next(.passwordExpiring)
            #expect(event.principal == "\(user)@\(realm.name)")
            #expect(event.date == session.passwordExpires)
        }
    }
}
