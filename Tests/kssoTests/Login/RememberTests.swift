import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso login --remember` with the kernel's keyring.
///
/// Each test has a principal of its own, because all processes of a user share the keyring.
@Suite(
    .testRealm(users: [:], services: ["HTTP/localhost"]),
    .enabled(if: KernelKey.isAvailable, "the kernel has no keyrings, or allows none here (add_key(2), keyctl(2))")
)
struct RememberTests {
    let station: Workstation
    let realm: TestRealm

    init() throws {
        station = try Workstation()
        realm = station.realm
    }

    /// Runs a closure with a new user, and removes the user's key afterwards.
    private func withUser(_ profileData: [String] = [], _ body: (String) async throws -> Void) async throws {
        let name = "user\(UUID().uuidString.lowercased())"
        try await realm.addUser(name, password: "very-secret-word", flags: ["+requires_preauth"])
        try station.install(profile(data: ["principalName: \(name)"] + profileData))
        defer { KernelKey.remove("ksso:\(name)@\(realm.name)") }
        try await body(name)
    }

    private func remember(_ name: String, input: String = "very-secret-word\n") async throws -> CommandResult {
        try await station.ksso("login", name, "--remember", "--password-stdin", input: input)
    }

    private func destroyTickets() async throws { _ = try await station.run(["kdestroy", "-A"]) }

    private func tokenOutput() async throws -> CommandResult { try await station.ksso("header", "http://localhost/") }

    @Test func `a remembered password signs in until ksso logout removes it`() async throws {
        try await withUser { name async throws in
            let result = try await remember(name)
            let lines = """
                \(name)@EXAMPLE.TEST is signed in until TIME LEFT, in \(station.cache).
                The password is stored in the kernel's keyring until the machine shuts down or your last process exits. \
                To remove it: ksso logout \(name)@EXAMPLE.TEST

                """
            #expect(result.withoutTimes == .done(lines))
            #expect(KernelKey.exists("ksso:\(name)@EXAMPLE.TEST"))
            #expect(try await station.status().sessions.map(\.acquiredBy) == ["storedSecret"])
            try await destroyTickets()
            #expect(try await tokenOutput().exitStatus == 0)
            #expect(try await station.status().sessions.map(\.acquiredBy) == ["storedSecret"])
            let logout = try await station.ksso("logout")
            let expected = "\(name)@EXAMPLE.TEST is signed out.\nThe stored password of \(name)@EXAMPLE.TEST was removed.\n"
            #expect(logout == .done(expected))
            #expect(!KernelKey.exists("ksso:\(name)@EXAMPLE.TEST"))
            #expect(try await tokenOutput().exitStatus == 5)
        }
    }

    @Test func `ksso logout with a name removes the stored password even without tickets`() async throws {
        try await withUser { name async throws in
            _ = try await remember(name)
            try await destroyTickets()
            let expected = "The stored password of \(name)@EXAMPLE.TEST was removed.\n"
            #expect(try await station.ksso("logout", name) == .done(expected))
            #expect(!KernelKey.exists("ksso:\(name)@EXAMPLE.TEST"))
        }
    }

    @Test func `allowAutomaticLogin: false refuses --remember and removes a stored password`() async throws {
        try await withUser { name async throws in
            _ = try await remember(name)
            try await destroyTickets()
            try station.install(profile(data: ["principalName: \(name)", "allowAutomaticLogin: false"]))
            let words = "the profile of the realm sets allowAutomaticLogin to false, so no password is stored. Sign in without --remember."
            #expect(try await remember(name) == .failure(1, "\(name)@EXAMPLE.TEST: \(words)"))
            #expect(!KernelKey.exists("ksso:\(name)@EXAMPLE.TEST"))
            #expect(try await tokenOutput().exitStatus == 5)
        }
    }

    @Test func `a password that the KDC refuses is not stored`() async throws {
        try await withUser { name async throws in
            #expect(try await remember(name, input: "wrong\n").exitStatus == 1)
            #expect(!KernelKey.exists("ksso:\(name)@EXAMPLE.TEST"))
            #expect(try await realm.failedAttempts(of: name) == 1)
        }
    }

    /// Each command is a process of its own, with no memory of the previous one.
    @Test func `a stored password that is wrong costs one attempt across all commands`() async throws {
        try await withUser { name async throws in
            _ = try await remember(name)
            try await destroyTickets()
            _ = try await realm.kadmin(["change_password", "-pw", "another", name])
            let first = try await tokenOutput()
            #expect(first.exitStatus != 0 && first.errors.contains("and was removed"), "\(first)")
            for _ in 0..<3 { #expect(try await tokenOutput().exitStatus == 5) }
            #expect(try await realm.failedAttempts(of: name) == 1)
            #expect(!KernelKey.exists("ksso:\(name)@EXAMPLE.TEST"))
        }
    }

    @Test(arguments: [["--keytab", "x"], ["--certificate", "FILE:x"]])
    func `--remember cannot be combined with a keytab or a certificate`(_ options: [String]) async throws {
        let result = try await station.run(["ksso", "login", "--remember"] + options)
        #expect(result.exitStatus == 64 && result.errors.contains("--remember stores a password"))
    }

    @Test(.timeLimit(.minutes(5))) func `an agent that starts later signs in with the stored password and does not leak it`() async throws {
        try await withUser { name async throws in
            let login = try await remember(name)
            #expect(!(login.output + login.errors).contains("very-secret-word"))
            try await destroyTickets()
            let end = try await station.withAgent(["-vv"]) { agent in
                let answer = try await station.run([
                    "curl", "-sS", "--max-time", "120", "--unix-socket", "\(station.runtime)/agent.sock", "-H",
                    "Content-Type: application/json", "-d", #"{"url": "http://localhost/"}"#, "http://agent/v1/authorize",
                ]).output
                #expect(answer.contains("Negotiate ") && !answer.contains("very-secret-word"), "\(answer)")
                for file in ["cmdline", "environ"] {
                    let text = try #require(String.contents(ofKernelFile: "/proc/\(agent.process)/\(file)"))
                    #expect(!text.isEmpty && !text.contains("very-secret-word"))
                }
                #expect(try await station.status().sessions.map(\.acquiredBy) == ["storedSecret"])
            }
            #expect(end.status == 0 && !end.transcript.contains("very-secret-word"))
        }
    }
}
