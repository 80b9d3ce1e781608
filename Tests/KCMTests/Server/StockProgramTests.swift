import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@testable import KCM

/// How libkrb5's own programs work with the server and a real KDC.
@Suite(.testRealm(users: ["alice": "wonderland", "bob": "builder"], services: ["HTTP/server", "host/other"]))
struct StockProgramTests {
    private func signIn(_ user: String, _ password: String, _ running: RunningServer, _ realm: TestRealm) async throws {
        let result = try await running.run("kinit", user, in: realm, input: "\(password)\n")
        #expect(result.exitStatus == 0, "\(result.errors)")
    }

    @Test func `kinit, klist, kswitch and kdestroy work with two principals`() async throws {
        let realm = try #require(TestRealm.current)
        try await withServer { running in
            #expect(try await running.run("klist", "-s", in: realm).exitStatus == 1)
            try await signIn("alice", "wonderland", running, realm)
            #expect(try await running.run("klist", "-s", in: realm).exitStatus == 0)
            #expect(try await running.run("klist", in: realm).output.contains("Ticket cache: KCM:\(geteuid()):default\n"))
            try await signIn("bob", "builder", running, realm)
            let both = try await running.run("klist", "-l", in: realm).output
            #expect(both.contains("alice@\(realm.name)") && both.contains("bob@\(realm.name)"), "\(both)")
            #expect(try await running.run("klist", in: realm).output.contains("Default principal: bob@\(realm.name)"))

            let switched = try await running.run("kswitch", "-p", "alice", in: realm)
            #expect(switched.exitStatus == 0, "\(switched.errors)")
            #expect(try await running.run("klist", in: realm).output.contains("Default principal: alice@\(realm.name)"))
            let counts = try #require(await running.server.counts.first)
            #expect(counts.user == geteuid() && counts.caches == 2 && counts.tickets == 2 && counts.bytes > 1000)

            #expect(try await running.run("kdestroy", in: realm).exitStatus == 0)
            #expect(try await running.run("klist", "-s", in: realm).exitStatus == 1)
            let left = try await running.run("klist", "-l", in: realm).output
            #expect(!left.contains("alice@") && left.contains("bob@"), "\(left)")
            #expect(try await running.run("kdestroy", "-A", in: realm).exitStatus == 0)
            #expect(try await comesTrue { await running.server.counts.isEmpty }, "the server forgets a user without caches")
        }
    }

    @Test func `kvno fetches each service ticket once and kinit -R renews the TGT`() async throws {
        let realm = try #require(TestRealm.current)
        try await withServer { running in
            let signIn = try await running.run("kinit", "-r", "1d", "alice", in: realm, input: "wonderland\n")
            #expect(signIn.exitStatus == 0, "\(signIn.errors)")
            for _ in 0..<2 {
                let fetched = try await running.run("kvno", "HTTP/server", "host/other", in: realm)
                #expect(fetched.exitStatus == 0, "\(fetched.errors)")
                #expect(await running.server.counts.first?.tickets == 3)
            }
            let renewed = try await running.run("kinit", "-R", in: realm)
            #expect(renewed.exitStatus == 0, "\(renewed.errors)")
            #expect(await running.server.counts.first?.tickets == 1)
        }
    }
}
