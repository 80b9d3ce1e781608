import Foundation
import KerberosTesting
import TestSupport
import Testing

@testable import Kerberos

@Suite struct DeadKDCTests {
    private static let users = ["alice": "secret"]
    private static let clock = ContinuousClock()

    @Test func `a KDC that does not listen is reported at once`() async throws {
        try await withTestRealm(users: Self.users) { realm in
            try await realm.stopKDC()
            let client = realm.client
            let elapsed = await Self.clock.measure {
                await expectFailure(.kdcUnreachable) { _ = try await realm.signIn(client: client) }
            }
            #expect(elapsed < .seconds(20))
            try await realm.startKDC()
            _ = try await realm.signIn(client: client)
        }
    }

    @Test func `a KDC that drops packets times out at the deadline`() async throws {
        try await withTestRealm(users: Self.users) { realm in
            let client = realm.client
            try await realm.pauseKDC()
            let limit = Duration.milliseconds(300)
            let elapsed = await Self.clock.measure {
                let error = await expectFailure(.kdcUnreachable) {
                    _ = try await realm.signIn(client: client, options: .init(deadline: limit))
                }
                #expect(error?.subject == "alice@EXAMPLE.TEST")
                #expect(error?.message.contains("no KDC of EXAMPLE.TEST answered") == true)
            }
            #expect(elapsed >= limit)
            #expect(elapsed < .seconds(20))
            // Calls that need no KDC return at once despite the abandoned call.
            #expect(try await client.defaultRealm() == realm.name)
            try await realm.resumeKDC()
            _ = try await realm.signIn(client: client)
        }
    }

    @Test func `cached tickets stay usable while the KDC does not answer`() async throws {
        try await withTestRealm(users: Self.users, services: ["HTTP/www.example.test"]) { realm in
            let user = try await realm.signIn()
            let service = try realm.principal("HTTP/www.example.test")
            _ = try await user.serviceTicket(service)
            try await realm.pauseKDC()
            let other = try realm.principal("HTTP/other.example.test")
            await expectFailure(.kdcUnreachable) {
                _ = try await user.client.serviceTicket(for: other, in: user.cache, deadline: .milliseconds(200))
            }
            await expectFailure(.kdcUnreachable) {
                _ = try await user.client.renewedCredential(for: user.principal, in: user.cache, deadline: .milliseconds(200))
            }
            let credential = try await user.initiator(for: service)
            #expect(try firstToken(from: credential).count > 100)
            #expect(try await user.client.contents(of: user.cache).credentials.count == 2)
        }
    }

    @Test func `a KDC that does not answer delays no call to another realm`() async throws {
        try await withTestRealm(users: Self.users) { dead in
            try await withTestRealm(.init(name: "OTHER.TEST", users: Self.users)) { alive in
                try await dead.pauseKDC()
                let (sent, continuation) = AsyncStream.makeStream(of: Void.self)
                let client = KerberosClient(dead.configuration) { if $0.contains("Initiating TCP connection") { continuation.yield() } }
                let waiting = Task { try await dead.signIn(client: client) }
                try #require(await sent.first { _ in true } != nil)
                _ = try await alive.signIn()
                try await dead.resumeKDC()
                _ = try await waiting.value
            }
        }
    }

    @Test func `a waiting call returns when its task is cancelled`() async throws {
        try await withTestRealm(users: Self.users) { realm in
            try await realm.pauseKDC()
            let (sent, continuation) = AsyncStream.makeStream(of: Void.self)
            let client = KerberosClient(realm.configuration) { if $0.contains("Initiating TCP connection") { continuation.yield() } }
            let waiting = Task { try await realm.signIn(client: client, options: .init(deadline: .seconds(60))) }
            try #require(await sent.first { _ in true } != nil)
            let elapsed = await Self.clock.measure {
                waiting.cancel()
                await expectFailure(.canceled) { _ = try await waiting.value }
            }
            #expect(elapsed < .seconds(20))
            try await realm.resumeKDC()
            _ = try await realm.signIn(client: client)
        }
    }

    @Test func `a task that is already cancelled sends no request`() async throws {
        try await withTestRealm(users: Self.users) { realm in
            let client = realm.client
            let before = try realm.received(.initialTicket)
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await realm.signIn(client: client)
            }
            await expectFailure(.canceled) { _ = try await task.value }
            #expect(try realm.received(.initialTicket) == before)
            _ = try await realm.signIn(client: client)
        }
    }

    @Test func `calls beyond the limit of abandoned calls fail at once`() async throws {
        try await withTestRealm(users: Self.users) { realm in
            let (sent, continuation) = AsyncStream.makeStream(of: Void.self)
            let client = KerberosClient(realm.configuration) { if $0.contains("Initiating TCP connection") { continuation.yield() } }
            try await realm.pauseKDC()
            for _ in 0..<4 {
                let waiting = Task { try await realm.signIn(client: client, options: .init(deadline: .seconds(60))) }
                try #require(await sent.first { _ in true } != nil)
                waiting.cancel()
                await expectFailure(.canceled) { _ = try await waiting.value }
            }
            let elapsed = await Self.clock.measure {
                let error = await expectFailure(.kdcUnreachable) {
                    _ = try await realm.signIn(client: client, options: .init(deadline: .seconds(60)))
                }
                #expect(error?.message.contains("earlier requests are still waiting") == true)
            }
            #expect(elapsed < .seconds(20))
            try await realm.resumeKDC()
            try await signInEventually(client, realm: realm)
        }
    }

    @Test func `calls that time out in the queue are not sent later`() async throws {
        try await withTestRealm(users: Self.users) { realm in
            let client = realm.client
            try await realm.pauseKDC()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        await expectFailure(.kdcUnreachable) {
                            _ = try await realm.signIn(client: client, options: .init(deadline: .milliseconds(200)))
                        }
                    }
                }
            }
            try await realm.resumeKDC()
            let requests = try await requestsAfterSignIn(client, realm: realm)
            // One abandoned call and one sign-in send two requests each. On a slow machine some calls start before their deadline.
            #expect(requests <= 12, "all six calls and the sign-in would send 14")
        }
    }

    /// Retries until the abandoned calls have returned.
    private func signInEventually(_ client: KerberosClient, realm: TestRealm) async throws {
        let limit = Self.clock.now.advanced(by: .seconds(60))
        while true {
            do {
                _ = try await realm.signIn(client: client)
                return
            } catch let error as KerberosError where error.code == .kdcUnreachable && Self.clock.now < limit {
                await Task.yield()
            }
        }
    }

    private func requestsAfterSignIn(_ client: KerberosClient, realm: TestRealm) async throws -> Int {
        try await signInEventually(client, realm: realm)
        return try realm.log().split(separator: "\n").count { $0.contains("AS_REQ") && $0.contains("alice@") }
    }
}
