import Foundation
import Kerberos
import KerberosEngine
import KerberosTesting
import SSOAgent
import SSOAgentClient
import SignOnPolicy
import TestSupport
import Testing

/// How the keeper renews, reacquires and ends sessions, with a real KDC.
@Suite struct SessionKeeperTests {
    @Test(.timeLimit(.minutes(2)), arguments: ["FILE", "DIR"])
    func `a TGT from kinit is renewed, and the service tickets stay`(_ cache: String) async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]) { realm in
            let home = try KeptHome(realm, cache: cache)
            try await home.run("kinit", ["-l", "300s", "-r", "1h", "alice"], input: "secret\n")
            try await home.run("kvno", ["HTTP/www.example.test"])
            try await home.withKeeper { keeper, events in
                try await home.advance(toAge: 190)
                await home.settle(keeper)
                #expect(try realm.issued(.serviceTicket, server: "krbtgt/EXAMPLE.TEST") == 0)
                try await home.advance(toAge: 205)
                let event = try await events.next(.gotNewCredential)
                #expect(event.principal == "alice@EXAMPLE.TEST" && event.realm == "EXAMPLE.TEST")
            }
            #expect(try realm.issued(.serviceTicket, server: "krbtgt/EXAMPLE.TEST") == 1)
            #expect(try await home.run("klist", []).contains("HTTP/www.example.test@EXAMPLE.TEST"))
            try await home.run("kvno", ["HTTP/www.example.test"])
            #expect(try realm.issued(.serviceTicket, server: "HTTP/www.example.test") == 1)
            #expect(try await home.makeExtension().sessions().sessions.map(\.acquiredBy) == [.other])
        }
    }

    /// The KDC's clock is off by more than a ticket's lifetime: by this machine's clock, the ticket would have expired or never be due.
    @Test(.timeLimit(.minutes(2)), arguments: [-11 * 3600, 11 * 3600])
    func `a ticket from a KDC with another clock is renewed in time`(_ offset: Int) async throws {
        try await withTestRealm(TestRealmOptions(users: ["alice": "secret"], clockOffset: .seconds(offset))) { realm in
            let home = try KeptHome(realm)
            try await home.run("kinit", ["-l", "300s", "-r", "1h", "alice"], input: "secret\n")
            try await home.withKeeper { keeper, events in
                try await home.advance(toAge: 190)
                await home.settle(keeper)
                #expect(try realm.issued(.serviceTicket, server: "krbtgt/EXAMPLE.TEST") == 0)
                try await home.advance(toAge: 205)
                try await events.next(.gotNewCredential)
                #expect(events.count(.credentialExpired) == 0)
            }
            #expect(try realm.issued(.serviceTicket, server: "krbtgt/EXAMPLE.TEST") == 1)
            #expect(try await home.makeExtension().sessions().sessions.map(\.isSignedIn) == [true])
        }
    }

    @Test func `a session from a keytab is reacquired`() async throws {
        try await withTestRealm(users: ["robot": "secret"]) { realm in
            let home = try KeptHome(realm)
            let keytab = try await realm.keytab(for: "robot")
            try await home.makeExtension().signIn(using: .keytab(keytab))
            try await home.withKeeper { keeper, events in
                home.clock.advance(by: 7 * 3600)
                try await events.next(.gotNewCredential)
            }
            #expect(try realm.issued(.initialTicket, client: "robot") == 2)
            #expect(try await home.makeExtension().sessions().sessions.map(\.acquiredBy) == [.keytab(keytab)])
        }
    }

    @Test
    func `a session with a stored password is reacquired`() async throws {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            let home = try KeptHome(realm)
            let options = InitialCredentialOptions(lifetime: .seconds(36_000))
            try await home.makeExtension().signInRemembering("alice", using: .password(Secret("secret")), options: options)
            let before = try realm.issued(.initialTicket, client: "alice")
            try await home.withKeeper { keeper, events in
                home.clock.advance(by: 7 * 3600)
                try await events.next(.gotNewCredential)
            }
            #expect(try realm.issued(.initialTicket, client: "alice") == before + 1)
            #expect(try await home.makeExtension().sessions().sessions.map(\.acquiredBy) == [.storedSecret])
        }
    }

    @Test func `a stored password that the KDC refuses is sent once and removed`() async throws {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            let home = try KeptHome(realm)
            _ = try await realm.kadmin(["modprinc", "+requires_preauth", "alice"])
            let options = InitialCredentialOptions(lifetime: .seconds(36_000))
            let session = try await home.makeExtension().signInRemembering("alice", using: .password(Secret("secret")), options: options)
            _ = try await realm.kadmin(["change_password", "-pw", "another", "alice"])
            try await home.withKeeper { keeper, _ in
                for wait in [7 * 3600, 400, 400, 3600] {
                    home.clock.advance(by: Double(wait))
                    await home.settle(keeper)
                }
                let isReported = try await comesTrue { home.log.all.contains { $0.contains("and was removed") } }
                #expect(isReported)
            }
            #expect(try await realm.failedAttempts(of: "alice") == 1)
            #expect(try await home.secrets.secret(for: session.session.principal) == nil)
        }
    }

    @Test func `an unreachable KDC is asked at growing intervals until it is back`() async throws {
        try await withTestRealm(users: ["robot": "secret"]) { realm in
            let home = try KeptHome(realm)
            try await home.makeExtension().signIn(using: .keytab(try await realm.keytab(for: "robot")))
            try await realm.stopKDC()
            try await home.withKeeper { keeper, events in
                home.clock.advance(by: 7 * 3600)
                #expect(try await events.next(.networkNotAvailable).realm == "EXAMPLE.TEST")
                // The first wait is 10 seconds, then 20.
                for (wait, failures) in [(9, 1), (2, 2), (18, 2), (3, 3)] {
                    home.clock.advance(by: Double(wait))
                    #expect(try await comesTrue { home.log.all.count >= failures })
                    await home.settle(keeper)
                    #expect(home.log.all.count == failures, "\(wait)")
                }
                try await realm.startKDC()
                home.clock.advance(by: 60)
                try await events.next(.gotNewCredential)
                #expect(events.count(.networkNotAvailable) == 1 && events.count(.networkAvailable) == 1)
            }
            #expect(home.log.all.allSatisfy { $0.contains("robot@EXAMPLE.TEST") })
        }
    }

    @Test func `a key that the KDC refuses is sent every five minutes until the keytab has the new key`() async throws {
        try await withTestRealm(users: ["robot": "secret"]) { realm in
            let home = try KeptHome(realm)
            let keytab = try await realm.keytab(for: "robot")
            try await home.makeExtension().signIn(using: .keytab(keytab))
            _ = try await realm.kadmin(["change_password", "-pw", "another", "robot"])
            try await home.withKeeper { keeper, events in
                home.clock.advance(by: 7 * 3600)
                #expect(try await comesTrue { home.log.all.count == 1 })
                for _ in 0..<5 {
                    home.clock.advance(by: 50)
                    await home.settle(keeper)
                }
                #expect(try await realm.failedAttempts(of: "robot") == 1)
                // The keeper may have recorded the failure one step after it was logged.
                home.clock.advance(by: 110)
                #expect(try await comesTrue { home.log.all.count == 2 })
                #expect(try await realm.failedAttempts(of: "robot") == 2)

                _ = try await realm.run("mv", [try await realm.keytab(for: "robot"), keytab])
                home.clock.advance(by: 360)
                try await events.next(.gotNewCredential)
            }
            #expect(try await realm.failedAttempts(of: "robot") == 0)
        }
    }

    @Test func `a key that the KDC refused is not sent again by later refreshes`() async throws {
        try await withTestRealm(users: ["robot": "secret"]) { realm in
            let home = try KeptHome(realm)
            let kerberos = home.makeExtension()
            let session = try await kerberos.signIn(using: .keytab(try await realm.keytab(for: "robot")))
            _ = try await realm.kadmin(["change_password", "-pw", "another", "robot"])
            for _ in 0..<3 {
                let error = await #expect(throws: KerberosError.self) { try await kerberos.refresh(session) }
                #expect(error?.code == .wrongPassword)
            }
            #expect(try await realm.failedAttempts(of: "robot") == 1)
        }
    }

    @Test func `a session is signed out for all programs when its maximum lifetime ends`() async throws {
        try await withTestRealm(users: ["alice": "secret", "bob": "secret"]) { realm in
            var home = try KeptHome(realm, cache: "DIR")
            home.configurations[0].sessionLimits = SessionLimits(maximumLifetime: .seconds(3600), exemptPrincipals: ["bob"])
            for user in ["alice", "bob"] { try await home.run("kinit", [user], input: "secret\n") }
            try await home.withKeeper { _, events in
                home.clock.advance(by: 3400)
                let warning = try await events.next(.sessionEnding)
                #expect(warning.principal == "alice@EXAMPLE.TEST")
                home.clock.advance(by: 250)
                let end = try await events.next(.signedOut)
                #expect(end.principal == "alice@EXAMPLE.TEST")
            }
            let reason = "because the session reached its maximum lifetime (MaxSessionLifetime)"
            #expect(home.notes.all == ["alice@EXAMPLE.TEST was signed out \(reason)."])
            let list = try await home.run("klist", ["-l"])
            #expect(!list.contains("alice@EXAMPLE.TEST") && list.contains("bob@EXAMPLE.TEST"))
        }
    }

    enum End: String, CaseIterable, Sendable {
        case locked = "because the screen was locked (SignOutOnLock)"
        case sessionEnded = "because the user's last login session ended (SignOutOnSessionEnd)"
        case timeOfDay = "because sessions end at this time of day (SignOutAt)"
        case idle = "because the tickets were not used (IdleSignOutAfter)"

        func limits() throws -> SessionLimits {
            switch self {
            case .locked: return SessionLimits(signOutOnLock: true)
            case .sessionEnded: return SessionLimits(signOutOnSessionEnd: true)
            case .idle: return SessionLimits(idleSignOutAfter: .seconds(7200))
            case .timeOfDay:
                let parts = Calendar.current.dateComponents([.hour, .minute], from: Date(timeIntervalSinceNow: 7200))
                let text = String(format: "%02d:%02d", try #require(parts.hour), try #require(parts.minute))
                return SessionLimits(signOutAt: .init(text))
            }
        }
    }

    @Test(arguments: End.allCases) func `the log says why a profile signed out a session`(end: End) async throws {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            let home = try KeptHome(realm, limits: end.limits())
            try await home.run("kinit", ["alice"], input: "secret\n")
            try await home.withKeeper { keeper, events in
                switch end {
                case .locked: keeper.note(.locked)
                case .sessionEnded: keeper.note(.sessionEnded)
                case .timeOfDay, .idle: home.clock.advance(by: 7260)
                }
                _ = try await events.next(.signedOut)
            }
            #expect(home.notes.all == ["alice@EXAMPLE.TEST was signed out \(end.rawValue)."])
        }
    }

    @Test func `removing a payload signs out the sessions that this project began`() async throws {
        try await withTestRealm(users: ["alice": "secret", "bob": "secret"]) { realm in
            let home = try KeptHome(realm, cache: "DIR")
            try await home.makeExtension().signIn("alice", using: .password(Secret("secret")))
            try await home.run("kinit", ["bob"], input: "secret\n")
            try await home.withKeeper { keeper, events in
                keeper.configure([])
                home.clock.advance(by: 50)
                let end = try await events.next(.signedOut)
                #expect(end.principal == "alice@EXAMPLE.TEST")
            }
            #expect(home.notes.all == ["alice@EXAMPLE.TEST was signed out because no profile names the realm any longer."])
            #expect(try await home.makeExtension().sessions().sessions.map(\.principal.description) == ["bob@EXAMPLE.TEST"])
        }
    }

    @Test func `the pause after a look at the caches is twenty times as long as the look`() async throws {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            var home = try KeptHome(realm)
            home.clock = ManualWakeClock(lookCost: 2)
            try await home.withKeeper { keeper, events in
                try await home.run("kinit", ["alice"], input: "secret\n")
                home.clock.advance(by: 39)
                await home.settle(keeper)
                #expect(home.clock.lookCount == 1)
                home.clock.advance(by: 2)
                try await events.next(.gotNewCredential)
                #expect(home.clock.lookCount == 2)
            }
        }
    }

    @Test func `sign-ins and sign-outs by other programs are reported`() async throws {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            let home = try KeptHome(realm)
            try await home.withKeeper { keeper, events in
                try await home.run("kinit", ["alice"], input: "secret\n")
                home.clock.advance(by: 50)
                keeper.poke()
                let start = try await events.next(.gotNewCredential)
                #expect(start.principal == "alice@EXAMPLE.TEST")
                try await home.run("kdestroy", [])
                home.clock.advance(by: 50)
                await home.settle(keeper)
                home.clock.advance(by: 50)
                let end = try await events.next(.signedOut)
                #expect(end.principal == "alice@EXAMPLE.TEST")
            }
        }
    }
}
