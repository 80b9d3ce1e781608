import Foundation
import KCM
import Kerberos
import KerberosEngine
import KerberosTesting
import SSOAgentClient
import SignOnPolicy
import Synchronization
import TestSupport
import Testing

@testable import SSOAgent

private typealias Drill = ScheduleDrill

/// The events of a session's ticket: new, renewed, destroyed or failed to renew.
@Suite struct SessionEventTests {
    private static func events(_ drill: inout Drill) -> [SessionEvent.Kind] {
        _ = drill.actions()
        return drill.takeSessionEvents().map(\.kind)
    }

    @Test func `sign-ins, renewals and sign-outs are reported, sessions from before the start are not`() {
        var drill = Drill()
        drill.observe(Drill.session("alice"))
        #expect(Self.events(&drill) == [])
        drill.observe(Drill.session("alice"), Drill.session("bob", cache: "FILE:two"))
        _ = drill.actions()
        let new = drill.takeSessionEvents()
        #expect(new.map(\.kind) == [.new] && new.map(\.principal) == ["bob@A.TEST"] && new.map(\.cache) == ["FILE:two"])
        drill.pass(100)
        drill.observe(Drill.session("alice", from: 100, to: 36_100, signedIn: 0), Drill.session("bob", cache: "FILE:two"))
        #expect(Self.events(&drill) == [.renewed])
        drill.observe(Drill.session("alice", from: 100, to: 36_200), Drill.session("bob", cache: "FILE:two"))
        #expect(Self.events(&drill) == [.new])
        drill.observe(Drill.session("bob", cache: "FILE:two"))
        drill.pass(2)
        drill.observe(Drill.session("bob", cache: "FILE:two"))
        #expect(Self.events(&drill) == [.destroyed])
    }

    @Test(arguments: [(-1.0, [SessionEvent.Kind]()), (0, [.new]), (2, [.new])])
    func `a sign-in between the agent's start and its first look is reported`(_ seconds: Double, _ kinds: [SessionEvent.Kind]) {
        var drill = Drill()
        drill.schedule.began = drill.now.wall + 0.7
        drill.pass(3)
        drill.observe(Drill.session(from: seconds))
        #expect(Self.events(&drill) == kinds)
        #expect(drill.kinds == [])
    }

    @Test func `the end of one of a principal's two caches is reported for that cache`() {
        var drill = Drill()
        drill.observe(Drill.session(cache: "FILE:one"), Drill.session(cache: "FILE:two"))
        for _ in 0..<2 {
            drill.observe(Drill.session(cache: "FILE:one"))
            drill.pass(2)
        }
        _ = drill.actions()
        let events = drill.takeSessionEvents()
        #expect(events.map(\.kind) == [.destroyed] && events.map(\.cache) == ["FILE:two"])
        #expect(drill.kinds == [])
    }

    @Test(arguments: [RefreshOutcome.unreachable, .failed, .refused, .needsPerson])
    func `a ticket that cannot be renewed is reported once, and again for the next ticket`(_ outcome: RefreshOutcome) {
        var drill = Drill()
        let session = Drill.session(renewUntil: 604_800, keytab: true)
        drill.observe(session)
        drill.pass(24_000)
        var count = drill.run(for: 3000) { drill, _ in drill.schedule.refreshFinished(session.key, outcome, at: drill.now) }.count
        let reported = drill.takeSessionEvents()
        #expect(count > 1 && reported.map(\.kind) == [.failed] && reported.map(\.reason) == [outcome])
        drill.observe(Drill.session(from: 27_000, to: 63_000, renewUntil: 604_800, keytab: true, signedIn: 0))
        #expect(Self.events(&drill) == [.renewed])
        drill.pass(24_000)
        count = drill.run(for: 1000) { drill, _ in drill.schedule.refreshFinished(session.key, outcome, at: drill.now) }.count
        #expect(count > 1 && drill.takeSessionEvents().map(\.kind) == [.failed])
    }

    @Test func `a session that ended during a renewal is not reported as failed`() {
        var drill = Drill()
        let session = Drill.session(renewUntil: 604_800)
        drill.observe(session)
        drill.pass(24_000)
        #expect(drill.actions() == [.refresh(session.key)])
        drill.schedule.refreshFinished(session.key, .gone, at: drill.now)
        #expect(Self.events(&drill) == [])
    }

    @Test func `a program's environment variables describe the event, with times in UTC`() {
        let event = SessionEvent(.failed, Drill.session(renewUntil: 604_800), reason: .unreachable)
        #expect(
            event.variables == [
                "KSSO_EVENT": "failed", "KSSO_PRINCIPAL": "alice@A.TEST", "KSSO_REALM": "A.TEST", "KSSO_CACHE": "FILE:one",
                "KSSO_EXPIRES": "2027-01-15T18:00:00Z", "KSSO_RENEW_UNTIL": "2027-01-22T08:00:00Z", "KSSO_REASON": "unreachable",
                "KRB5CCNAME": "FILE:one",
            ]
        )
        #expect(SessionEvent(.new, Drill.session()).variables["KSSO_RENEW_UNTIL"] == "")
    }
}

/// How the runs of the administrator's program are limited, and how their failures are reported.
@Suite struct EventRunsTests {
    private final class Programs: Sendable {
        let state = Mutex<(waiting: [CheckedContinuation<String?, Never>], started: Int, most: Int)>(([], 0, 0))
        let starts = AsyncStream.makeStream(of: Int.self)

        func run() async -> String? {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let count = state.withLock { state in
                        state.waiting.append(continuation)
                        state.started += 1
                        state.most = max(state.most, state.waiting.count)
                        return state.started
                    }
                    starts.continuation.yield(count)
                }
            } onCancel: {
                endAll("canceled")
            }
        }

        func end(_ fault: String?) { state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }?.resume(returning: fault) }

        func endAll(_ fault: String?) {
            for continuation in state.withLock({ $0.waiting }) { continuation.resume(returning: fault) }
            state.withLock { $0.waiting = [] }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `programs of all events run, a limited number at a time, and a failure is reported once`() async throws {
        let log = Recorded<String>()
        let programs = Programs()
        let runs = EventRuns({ _ in await programs.run() }, Journal { log.append($0) })
        let task = Task { await runs.run() }
        var starts = programs.starts.stream.makeAsyncIterator()
        for _ in 0..<8 { runs.note(SessionEvent(.new, ScheduleDrill.session())) }
        for _ in 0..<EventRuns.limit { _ = await starts.next() }
        for fault in ["one", "one", "two", nil] {
            programs.end(fault)
            _ = await starts.next()
        }
        let (started, most) = programs.state.withLock { ($0.started, $0.most) }
        #expect(started == 8 && most == EventRuns.limit)
        task.cancel()
        await task.value
        #expect(log.all.prefix(3) == ["one", "two", "the program of --on-event has succeeded again."])
    }
}

/// How the keeper renews the tickets of all caches in this project's cache server.
@Suite struct RenewalOfEveryCacheTests {
    @Test(.timeLimit(.minutes(2)))
    func `every renewable ticket of any cache and realm is renewed, and the primary cache stays`() async throws {
        try await withTestRealm(users: ["alice": "secret", "bob": "secret"]) { realm in
            try await withTestRealm(TestRealmOptions(name: "OTHER.TEST", users: ["carol": "secret"])) { other in
                var home = try KeptHome(realm)
                try await home.withCacheServer(others: [other]) { home in
                    let (user, life) = (geteuid(), ["-l", "300s", "-r", "1h"])
                    try await home.run("kinit", life + ["alice"], input: "secret\n")
                    try await home.run("kinit", life + ["-c", "KCM:\(user):second", "alice"], input: "secret\n")
                    // No profile configures this realm.
                    try await home.run("kinit", life + ["-c", "KCM:\(user):third", "carol@OTHER.TEST"], input: "secret\n")
                    try await home.run("kinit", life + ["bob"], input: "secret\n")
                    try await home.run("kswitch", ["-c", "KCM:\(user):second"])
                    let before = try await home.tickets()
                    #expect(before.count == 4)
                    try await home.withKeeper { _, events in
                        try await home.advance(toAge: 205)
                        for _ in 0..<4 { try await events.next(.gotNewCredential) }
                    }
                    let after = try await home.tickets()
                    #expect(after.keys.sorted() == before.keys.sorted())
                    #expect(after.keys.filter { after[$0] == before[$0] } == [])
                    #expect(try await home.run("klist", []).hasPrefix("Ticket cache: KCM:\(user):second\n"))
                    #expect(try realm.issued(.serviceTicket, server: "krbtgt/EXAMPLE.TEST") == 3)
                    #expect(try other.issued(.serviceTicket, server: "krbtgt/OTHER.TEST") == 1)
                }
            }
        }
    }

    @Test func `an unattended sign-in does not change the primary cache of an existing session`() async throws {
        try await withTestRealm(users: ["alice": "secret", "robot": "secret"]) { realm in
            var home = try KeptHome(realm)
            try await home.withCacheServer(others: []) { home in
                try await home.run("kinit", ["alice"], input: "secret\n")
                let kerberos = home.makeExtension()
                try await kerberos.signInUnattended(nil, using: .keytab(try await realm.keytab(for: "robot")))
                #expect(try await kerberos.sessions().primary?.principal.description == "alice@EXAMPLE.TEST")
                #expect(try await kerberos.sessions().sessions.count == 2)
                try await home.run("kdestroy", [])
                try await kerberos.signOut()
                try await kerberos.signInUnattended(nil, using: .keytab(try await realm.keytab(for: "robot")))
                #expect(try await kerberos.sessions().primary?.principal.description == "robot@EXAMPLE.TEST")
            }
        }
    }
}

extension KeptHome {
    /// Runs the body with the caches in a cache server instead of files.
    fileprivate mutating func withCacheServer(others: [TestRealm], _ body: (KeptHome) async throws -> Void) async throws {
        try await withFolder { folder in
            let text = "[libdefaults]\n    kcm_socket = \(folder)/kcm.sock\n"
            try text.write(toFile: "\(folder)/krb5.conf", atomically: true, encoding: .utf8)
            configurationFiles = ["\(folder)/krb5.conf"] + ([realm] + others).map(\.configurationPath)
            cacheName = "KCM:"
            let server = try KCMServer(KCMServer.Options(isPermitted: { _ in true }))
            let result: Result<Void, any Error>
            do {
                try await server.serve(try ListeningSocket.bind(path: "\(folder)/kcm.sock"))
                result = .success(try await body(self))
            } catch {
                result = .failure(error)
            }
            await server.shutDown()
            try result.get()
        }
    }

    /// The fingerprint of each cache's TGT.
    fileprivate func tickets() async throws -> [String: Int] {
        let sessions = try await makeExtension().sessions().sessions
        return Dictionary(uniqueKeysWithValues: sessions.map { ("\($0.cache) \($0.principal)", $0.ticketFingerprint) })
    }
}
