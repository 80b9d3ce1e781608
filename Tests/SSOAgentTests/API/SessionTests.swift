import Foundation
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SSOAgentClient
import SignOnPolicy
import TestSupport
import Testing

@testable import SSOAgent

/// How clients sign in, refresh, sign out and stop the agent through its API.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test", "app"]))
struct SessionTests {
    @Test func `a client signs in with a password, refreshes the session and signs out`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm, signedIn: false) { agent in
            let client = try await agent.client()
            let session = try await client.login("alice", using: .password(Secret("secret")))
            #expect(session.principal == "alice@EXAMPLE.TEST" && session.signedIn && session.acquiredBy == "password")
            #expect(try await client.status().sessions == [session])
            #expect(try await client.refresh("alice").map(\.principal) == ["alice@EXAMPLE.TEST"])
            #expect(try await client.logout() == SignOutDocument(ended: ["alice@EXAMPLE.TEST"], left: []))
            #expect(try await client.status().sessions.isEmpty)
            #expect(agent.changes.count == 3)
        }
    }

    @Test func `a client signs in with a keytab`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm, signedIn: false) { agent in
            let session = try await agent.client().login("app", using: .keytab(realm.keytabPath))
            #expect(session.principal == "app@EXAMPLE.TEST" && session.acquiredBy == "keytab")
        }
    }

    /// The list applies to EXAMPLE.TEST, the realm of the keytab's first principal, and because of its principal to SERVICE.TEST.
    @Test(arguments: [
        ("login", #""keytab": "KEYTAB""#), ("login", #""keytab": "KEYTAB", "realm": "OTHER.TEST""#),
        ("login", #""keytab": "KEYTAB", "realm": "EXAMPLE.TEST""#), ("login", #""password": "secret", "realm": "EXAMPLE.TEST""#),
        ("login", #""principal": "bob@SERVICE.TEST", "password": "secret""#), ("login", #""principal": "bob@", "password": "secret""#),
        ("refresh", #""realm": "SERVICE.TEST""#), ("refresh", #""principal": "alice""#), ("refresh", ""),
        ("password", #""principal": "bob", "realm": "SERVICE.TEST", "password": "secret", "newPassword": "other""#),
        ("password", #""password": "secret", "newPassword": "other""#),
    ])
    func `a denied program gets no ticket, whichever realm it requests`(operation: String, body: String) async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(
            in: realm,
            signedIn: false,
            change: {
                $0.deniedCallers = [.folder("/usr/")]
                $0.principalName = "svc@SERVICE.TEST"
            }
        ) { agent in
            let body = "{\(body.replacingOccurrences(of: "KEYTAB", with: realm.keytabPath))}"
            let reply = try await agent.curl(["--data", body, "http://ksso/v1/\(operation)"])
            #expect(reply.status == 403 && reply.body.contains("DeniedBundleIdentifiers"), "\(reply)")
            #expect(try await agent.kerberos.sessions().sessions.isEmpty)
        }
    }

    @Test(.testRealm(users: ["alice": "secret"]))
    func `a wrong password costs one attempt at the KDC and is not in the error`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm, signedIn: false) { agent in
            let error = await #expect(throws: AuthorizationError.self) {
                try await agent.client().login("alice", using: .password(Secret("wrong \"password\"")))
            }
            #expect(error?.code.rawValue == "wrongPassword")
            // KRB5KDC_ERR_PREAUTH_FAILED
            #expect((error?.cause as? AgentProblem)?.libraryCode == -1_765_328_360)
            let report = "\(String(describing: error)) \(error?.message ?? "")"
            #expect(!report.contains("wrong \"password") && report.contains("alice@EXAMPLE.TEST"))
            let failures = try realm.log().split(separator: "\n").count { $0.contains("PREAUTH_FAILED") }
            #expect(failures == 1)
        }
    }

    @Test(arguments: [
        ("login", "{}", 409, "notInteractive"), ("login", #"{"keytab": "relative"}"#, 400, "malformedRequest"),
        ("login", #"{"keytab": "/a", "password": "x"}"#, 400, "malformedRequest"),
        ("login", #"{"certificate": "FILE:/a,b"}"#, 400, "malformedRequest"),
        ("login", #"{"certificate": "a.p12"}"#, 400, "malformedRequest"),
        ("login", #"{"certificate": "PKCS11:", "keytab": "/a"}"#, 400, "malformedRequest"),
        ("login", #"{"pin": "1"}"#, 400, "malformedRequest"),
        ("login", #"{"principal": "alice", "certificate": "default"}"#, 422, "certificateRefused"),
        ("login", #"{"principal": "nobody", "password": "x"}"#, 422, "unknownPrincipal"),
        ("refresh", #"{"principal": "nobody"}"#, 409, "noCredentials"), ("refresh", "{}", 409, "noCredentials"),
        ("logout", #"{"principal": "@@"}"#, 400, "malformedPrincipal"), ("logout", "[]", 400, "malformedRequest"),
    ])
    func `each session error has its status and code`(operation: String, body: String, status: Int, code: String) async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm, signedIn: false) { agent in
            let reply = try await agent.curl(["--data", body, "http://ksso/v1/\(operation)"])
            #expect(reply.status == status)
            let problem = try AgentJSON.decode(AgentProblem.self, from: Data(reply.body.utf8))
            #expect(problem.code == code && problem.status == status && problem.type == "urn:ksso:\(code)")
            #expect(!problem.detail.isEmpty && !problem.title.isEmpty)
        }
    }

    @Test func `a logout removes other programs' tickets only if it covers all sessions`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm, signedIn: false) { agent in
            let kinit = try await realm.run("kinit", ["alice"], environment: ["KRB5CCNAME": agent.cacheName], input: "secret\n")
            #expect(kinit.exitStatus == 0)
            let client = try await agent.client()
            #expect(try await client.logout() == SignOutDocument(ended: [], left: ["alice@EXAMPLE.TEST"]))
            #expect(try await client.logout(all: true) == SignOutDocument(ended: ["alice@EXAMPLE.TEST"], left: []))
        }
    }

    @Test func `the agent explains a URL as its engine does, without user information or fragment`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm) { agent in
            let client = try await agent.client()
            let url = try #require(URL(string: "https://user:hidden@www.example.test/a?b=c&d=%20#e"))
            let explanation = try await client.explanation(for: url)
            #expect(explanation == ExplanationDocument(await agent.kerberos.explanation(for: url)))
            #expect(explanation.outcome == "handled" && explanation.profile == "agent.yaml")
            #expect(explanation.url == "https://www.example.test/a?b=c&d=%20#e")
            let error = await #expect(throws: AuthorizationError.self) {
                try await client.explanation(for: try #require(URL(string: "ftp://www.example.test/")))
            }
            #expect(error?.code == .invalidURL)
        }
    }

    @Test func `a client can stop the agent`() async throws {
        let realm = try #require(TestRealm.current)
        try await RunningAgent.run(in: realm, signedIn: false) { agent in
            try await agent.client().stop()
            #expect(agent.stops.count == 1)
        }
    }
}
