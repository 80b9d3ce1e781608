import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Missing files and invalid names of caches: each is reported before ksso contacts the KDC or prompts.
@Suite(.testRealm(users: ["alice": "secret"]), .timeLimit(.minutes(5)))
struct LoginFilesTests {
    let station: Workstation

    init() throws { station = try Workstation() }

    @Test(arguments: ["login", "passwd"]) func `an armor cache of an unsupported type is a usage error`(command: String) async throws {
        let sentence = "--armor-cache FOO:bar: the credential cache type FOO is not supported. Use one of FILE, DIR, KEYRING, KCM."
        #expect(try await station.ksso(command, "alice", "--armor-cache", "FOO:bar", "--password-stdin") == .failure(64, sentence))
    }

    @Test(arguments: ["FILE:/nope.pem", "FILE:/dev/null,/nope.pem", "/nope.pem", "PKCS12:/nope.pem", "DIR:/nope.pem"])
    func `a missing certificate file is reported before the PIN is read`(identity: String) async throws {
        // --password-stdin prevents the prompt for the PIN; the error comes before the PIN is read.
        let result = try await station.ksso("login", "alice", "--certificate", identity, "--password-stdin")
        #expect(result == .failure(1, "--certificate \(identity): there is no such file: /nope.pem"))
    }

    /// `ksso login --keytab` accepts the same names.
    @Test func `the agent's --keytab accepts the prefix FILE and no other type`() async throws {
        let keytab = try await station.realm.keytab(for: "alice")
        try await station.withBackgroundAgent("--keytab", "FILE:\(keytab)") { result in
            #expect(result.exitStatus == 0 && result.output.hasSuffix("\nalice@EXAMPLE.TEST is signed in.\n"), "\(result)")
        }
        let missing = try await station.ksso("agent", "run", "--keytab", "FILE:/nope.keytab")
        #expect(missing == .failure(1, "/nope.keytab: the keytab cannot be read: No such file or directory."))
        let other = try await station.ksso("agent", "run", "--keytab", "MEMORY:x")
        #expect(other == .failure(64, "--keytab MEMORY:x: a keytab must be a file. Give a path, or FILE: and a path."))
    }

    @Test(.enabled(if: !LoadableLibrary.isPKINITInstalled, "krb5-pkinit is installed"))
    func `ksso realm run --certificates reports a missing PKINIT plugin`() async throws {
        let result = try await station.ksso("realm", "run", "--certificates", "--", "true")
        let sentence = "libkrb5's plugin preauth/pkinit.so was not found; install the Debian package krb5-pkinit."
        #expect(result == .failure(127, sentence))
    }

    @Test func `--next cannot be combined with the fault refuse`() async throws {
        let script = "ksso realm fault refuse --next 0 || echo $?"
        let result = try await RealmFolder().run(["--fault", "pass"], script: script, on: station)
        #expect(
            result.output == "64\n" && result.errors.contains("--next cannot be combined with refuse, because no request reaches"),
            "\(result)"
        )
        #expect(!result.errors.contains("set("))
    }
}
