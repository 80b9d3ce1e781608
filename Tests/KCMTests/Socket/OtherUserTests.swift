import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@testable import KCM

/// Isolation between two users of one server, who are identified by UID alone: UID 12345 needs no account.
@Suite(.enabled(if: geteuid() == 0, "only root can become another user"), .testRealm(users: ["alice": "wonderland"]))
struct OtherUserTests {
    private func run(as user: UInt32, _ program: String, _ arguments: String..., on running: RunningServer) async throws -> CommandResult {
        let realm = try #require(TestRealm.current)
        let configuration = "\(running.folder)/open.conf"
        let text = "[libdefaults]\n    kcm_socket = \(running.path)\n    default_ccache_name = KCM:\n    default_realm = EXAMPLE.TEST\n"
        try text.write(toFile: configuration, atomically: true, encoding: .utf8)
        #expect(chmod(configuration, 0o644) == 0 && chmod(running.folder, 0o755) == 0)
        let identity = ["--reuid=\(user)", "--regid=\(user)", "--clear-groups"]
        let words = identity + ["env", "-i", "PATH=/usr/bin:/bin", "KRB5_CONFIG=\(configuration)", program] + arguments
        return try await realm.run("setpriv", words)
    }

    private func withOpenServer(_ body: (RunningServer) async throws -> Void) async throws {
        try await withFolder { folder in
            let running = RunningServer(server: try KCMServer(KCMServer.Options.forEveryone(directory: "\(folder)/caches")), folder: folder)
            try await running.server.serve(try ListeningSocket.bind(path: running.path, mode: 0o666))
            do { try await body(running) } catch {
                await running.server.shutDown()
                throw error
            }
            await running.server.shutDown()
        }
    }

    @Test func `another user can neither list, read nor destroy a user's caches`() async throws {
        let realm = try #require(TestRealm.current)
        try await withOpenServer { running in
            let signIn = try await running.run("kinit", "alice", in: realm, input: "wonderland\n")
            #expect(signIn.exitStatus == 0, "\(signIn.errors)")
            let own = try await running.run("klist", "-l", in: realm)
            #expect(own.output.contains("alice@"))

            let list = try await run(as: 12345, "klist", "-l", "-A", on: running)
            #expect(!list.output.contains("alice"), "\(list.output)")
            for name in ["KCM:", "KCM:0", "KCM:0:default"] {
                let shown = try await run(as: 12345, "klist", "-c", name, on: running)
                #expect(shown.exitStatus == 1 && !shown.output.contains("alice"), "\(shown.output)")
                _ = try await run(as: 12345, "kdestroy", "-c", name, on: running)
            }
            _ = try await run(as: 12345, "kdestroy", "-A", on: running)
            #expect(try await running.run("klist", "-l", in: realm).output == own.output)
            #expect(try await comesTrue { await running.server.counts.map(\.user) == [0] }, "the server forgets a user without caches")
            #expect(await running.server.counts.map(\.caches) == [1])
        }
    }

    @Test func `a process with the kernel's overflow UID is refused`() async throws {
        try await withOpenServer { running in
            let shown = try await run(as: PeerCredential.overflowUser, "klist", on: running)
            #expect(shown.exitStatus == 1)
            #expect(await running.server.counts.isEmpty)
        }
    }
}
