import Foundation
import TestSupport
import Testing

@testable import Kerberos
@testable import KerberosSSO

/// The Secret Service store with scripts that replace `secret-tool`; the command tests use the real program.
struct SecretToolTests {
    @discardableResult
    private func withTool<Value>(_ script: String, _ body: (SecretServiceStore, String) async throws -> Value) async throws -> Value {
        try await withScript(script, as: "secret-tool") { folder in
            let environment = ["PATH": "\(folder):/usr/bin:/bin", "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(folder)/none"]
            return try await body(#require(SecretServiceStore(environment: environment)), folder)
        }
    }

    private let alice: Principal

    init() throws { alice = try Principal("alice@EXAMPLE.TEST") }

    /// A script that logs its arguments and environment, and stores its input.
    private static let recording = "echo \"$@\" >>log; env >>log; case $1 in store) cat >kept;; lookup) cat kept;; clear) rm kept;; esac"

    @Test func `secret-tool gets the password only through standard input`() async throws {
        try await withTool(Self.recording) { store, folder in
            #expect(try await store.secret(for: alice) == nil)
            #expect(try await store.store(Secret("pass wörd"), for: alice) == "in the Secret Service until you sign out")
            #expect(try await store.secret(for: alice) == Secret("pass wörd"))
            #expect(try await store.remove(alice) == true)
            #expect(try await store.remove(alice) == false)
            let log = try String(contentsOfFile: "\(folder)/log", encoding: .utf8)
            #expect(log.contains("lookup service ksso principal alice@EXAMPLE.TEST\n") && !log.contains("pass wörd"), "\(log)")
        }
    }

    @Test(arguments: ["exit 1", "kill -9 $$", "cat >/dev/null; echo no >&2; exit 3"])
    func `a failing secret-tool stores no password`(script: String) async throws {
        try await withTool(script) { store, _ in
            let kept = try await store.secret(for: alice)
            #expect(kept == nil)
            await #expect(throws: KerberosError.self) { try await store.store(Secret("x"), for: alice) }
        }
    }

    @Test func `a secret-tool with endless output is terminated`() async throws {
        try await withTool("exec yes") { store, _ in
            await #expect(throws: KerberosError.self) { try await store.secret(for: alice) }
        }
    }

    /// The program does not exit, with its output open or closed.
    @Test(arguments: ["exec cat fifo", "exec >/dev/null; exec cat fifo >&2 <&-"])
    func `a secret-tool that does not exit is terminated`(script: String) async throws {
        try await withTool("exec 0<&-; mkfifo fifo; \(script)") { _, folder in
            let environment = ["PATH": "/usr/bin:/bin"]
            let run = SecretToolRun(program: "\(folder)/secret-tool", arguments: [], environment: environment, patience: .milliseconds(200))
            let outcome = await withCheckedContinuation { continuation in
                Thread.detachNewThread { continuation.resume(returning: run.outcome(input: nil)) }
            }
            #expect(outcome == nil || outcome?.status != 0)
        }
    }

    @Test func `a principal that looks like an option is not passed to secret-tool`() async throws {
        try await withTool(Self.recording) { store, folder in
            let principal = try Principal("--all@EXAMPLE.TEST")
            let kept = try await store.secret(for: principal)
            #expect(kept == nil)
            await #expect(throws: KerberosError.self) { try await store.store(Secret("x"), for: principal) }
            #expect(!FileManager.default.fileExists(atPath: "\(folder)/log"))
        }
    }

    @Test(arguments: [[:], ["PATH": "/usr/bin"], ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/x", "PATH": "/nonexistent:relative"]])
    func `without secret-tool or a session bus there is no Secret Service store`(environment: [String: String]) {
        #expect(SecretServiceStore(environment: environment) == nil)
    }
}
