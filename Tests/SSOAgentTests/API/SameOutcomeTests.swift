import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@testable import SSOAgent

/// A program's own request and nginx's question on behalf of one are held to the same rules.
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
    func `a token is a use of the session`(route: Route) async throws {
        try await RunningAgent.run(in: try #require(TestRealm.current)) { agent async throws in
            #expect(try await route.ask(agent).body.contains("Negotiate "))
            #expect(agent.uses.count == 1)
        }
    }

    @Test(arguments: Route.allCases)
    func `who finds nobody signed in waits for the agents sign in`(route: Route) async throws {
        try await RunningAgent.run(
            in: try #require(TestRealm.current),
            signedIn: false,
            signsIn: { (try? await $0.signIn("alice", using: .password(Secret("secret")))) != nil }
        ) { agent async throws in
            #expect(try await route.ask(agent).body.contains("Negotiate "))
        }
    }

    @Test func `the identity waits as well`() async throws {
        try await RunningAgent.run(
            in: try #require(TestRealm.current),
            signedIn: false,
            signsIn: { (try? await $0.signIn("alice", using: .password(Secret("secret")))) != nil }
        ) { agent async throws in
            let reply = try await agent.curl(["--data", Route.document, "http://ksso/v1/identity"])
            #expect(reply.status == 200 && reply.body.contains("alice@EXAMPLE.TEST"), "\(reply)")
        }
    }

    /// The realm's key was changed since the sign-in.
    @Test(arguments: Route.allCases)
    func `a ticket that the KDC refuses is a matter of signing in again`(route: Route) async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]) { realm in
            try await RunningAgent.run(in: realm) { agent async throws in
                try await realm.rotateKeys(of: "krbtgt/EXAMPLE.TEST", keepingOld: false, updatesKeytab: false)
                let reply = try await route.ask(agent)
                #expect(reply.status == (route == .authorize ? 409 : 401) && reply.body.contains("Sign in again."), "\(reply)")
                if route == .authorize { #expect(reply.body.contains(#""ticketRefused""#), "\(reply)") }
            }
        }
    }

    /// Whoever signs out is not signed in first.
    @Test func `a sign-out signs nobody in`() async throws {
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
    func `nothing passes the locked screen`(behavior: ScreenLockedBehavior) async throws {
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
