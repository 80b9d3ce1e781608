import Foundation
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

@testable import SSOAgent

/// The rules that apply alike to a program's own request and to nginx's `auth_request`.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]))
struct SameOutcomeTests {
    enum Route: String, CaseIterable {
        case authorize, authRequest = "auth-request"

        func ask(_ agent: RunningAgent) async throws -> (status: Int, body: String) {
            switch self {
            case .authorize: try await agent.curl(["--data", Self.document, "http://ksso/v1/authorize"])
            case .authRequest:
                try await agent.curl(["--include", "--header", "X-Original-URL: https://www.example.test/", "http://ksso/v1/auth-request"])
            }
        }

        static let document = #"{"url": "https://www.example.test/"}"#
    }

    @Test(arguments: Route.allCases)
    func `each token counts as a use of the session`(route: Route) async throws {
        try await RunningAgent.run(in: try #require(TestRealm.current)) { agent async throws in
            #expect(try await route.ask(agent).body.contains("Negotiate "))
            #expect(agent.uses.count == 1)
        }
    }

    @Test(arguments: Route.allCases)
    func `a request without a session waits for the agent's own sign-in`(route: Route) async throws {
        try await RunningAgent.run(
            in: try #require(TestRealm.current),
            signedIn: false,
            signsIn: { (try? await $0.signIn("alice", using: .password(Secret("secret")))) != nil }
        ) { agent async throws in
            #expect(try await route.ask(agent).body.contains("Negotiate "))
        }
    }

    @Test func `an identity request without a session waits for the agent's own sign-in`() async throws {
        try await RunningAgent.run(
            in: try #require(TestRealm.current),
            signedIn: false,
            signsIn: { (try? await $0.signIn("alice", using: .password(Secret("secret")))) != nil }
        ) { agent async throws in
            let reply = try await agent.curl(["--data", Route.document, "http://ksso/v1/identity"])
            #expect(reply.status == 200 && reply.body.contains("alice@EXAMPLE.TEST"), "\(reply)")
        }
    }

    /// The key of the realm's krbtgt was changed after the sign-in.
    @Test(arguments: Route.allCases)
    func `a request whose ticket the KDC refuses fails with the advice to sign in again`(route: Route) async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]) { realm in
            try await RunningAgent.run(in: realm) { agent async throws in
                try await realm.rotateKeys(of: "krbtgt/EXAMPLE.TEST", keepingOld: false, updatesKeytab: false)
                let reply = try await route.ask(agent)
                #expect(reply.status == (route == .authorize ? 409 : 401) && reply.body.contains("Sign in again."), "\(reply)")
                if route == .authorize { #expect(reply.body.contains(#""ticketRefused""#), "\(reply)") }
            }
        }
    }

    /// A sign-out must not start the agent's own sign-in.
    @Test func `a sign-out without a session does not wait for the agent's own sign-in`() async throws {
        try await RunningAgent.run(
            in: try #require(TestRealm.current),
            signedIn: false,
            signsIn: { (try? await $0.signIn("alice", using: .password(Secret("secret")))) != nil }
        ) { agent async throws in
            let body = #"{"url": "https://www.example.test/", "operation": "logout"}"#
            #expect(try await agent.curl(["--data", body, "http://ksso/v1/authorize"]).status == 409)
            #expect(try await agent.kerberos.sessions().sessions.isEmpty)
        }
    }

    @Test(arguments: ScreenLockedBehavior.allCases)
    func `no token or identity is given out while the screen is locked`(behavior: ScreenLockedBehavior) async throws {
        try await RunningAgent.run(
            in: try #require(TestRealm.current),
            change: { $0.screenLockedBehavior = behavior },
            isScreenLocked: true
        ) { agent async throws in
            for route in Route.allCases {
                let reply = try await route.ask(agent)
                #expect(reply.body.contains("screen is locked") && !reply.body.contains("Negotiate "), "\(reply)")
            }
            let identity = try await agent.curl(["--data", Route.document, "http://ksso/v1/identity"])
            #expect(!identity.body.contains("alice"), "\(identity)")
            #expect(identity.status == (behavior == .cancel ? 422 : 200), "\(identity)")
            let explanation = try await agent.curl(["http://ksso/v1/explain?url=https://www.example.test/"])
            #expect(explanation.body.contains("screenLock") && explanation.body.contains("screen is locked"), "\(explanation)")
            #expect(agent.uses.count == 0)
        }
    }
}
