import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso setup --system`, with an `/etc` of the test's own.
@Suite(
    .testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]),
    .enabled(if: PrivateMounts.arePossible, Comment(rawValue: PrivateMounts.reason))
)
struct SystemSetupTests {
    let station: Workstation

    init() throws { station = try Workstation() }

    /// Runs a script whose changes to `/etc` are invisible to other processes, and are discarded with it.
    private func run(_ script: String, _ words: String...) async throws -> CommandResult {
        let cover = """
            mount -t tmpfs none /mnt
            mkdir /mnt/upper /mnt/work
            mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/upper,workdir=/mnt/work /etc
            rm -rf /etc/ksso

            """
        return try await station.run(PrivateMounts.command(cover + script, words))
    }

    /// Every user can read it, whatever root's umask is, and only root can write it. It is also active for a user with another home.
    @Test func `ksso setup --system installs a profile that is active for every user`() async throws {
        let file = try station.write(profile(hosts: ["a.test"]), to: "corp.yaml")
        let script = """
            umask 077
            ksso setup --system "$1"
            stat -c '%a %u %n' /etc/ksso /etc/ksso/*
            ksso setup --system "$1"
            HOME=/nonexistent XDG_CONFIG_HOME= ksso profile show | grep hosts
            """
        let result = try await run(script, file)
        #expect(result.exitStatus == 0, "\(result)")
        let lines = [
            "/etc/ksso/corp.yaml: installed", "755 0 /etc/ksso", "644 0 /etc/ksso/corp.yaml", "/etc/ksso/corp.yaml: already installed",
            "    hosts: a.test", "",
        ]
        #expect(result.output == lines.joined(separator: "\n"))
        // Each user signs in separately.
        #expect(result.errors == "Each user now runs: ksso setup\nEach user now runs: ksso setup\n")
        #expect(!FileManager.default.fileExists(atPath: "\(station.directory)/config/environment.d"))
    }

    @Test func `ksso setup --system creates a profile with which users configure their sessions`() async throws {
        let script = """
            ksso setup --system --realm EXAMPLE.TEST --host localhost
            printf 'secret\\n' | ksso setup --principal alice --password-stdin
            ksso header https://localhost/ | cut -c 1-24
            """
        let result = try await run(script)
        #expect(result.exitStatus == 0, "\(result)")
        #expect(result.output.hasPrefix("/etc/ksso/example.test.yaml: installed\nalice@EXAMPLE.TEST is signed in until "), "\(result)")
        #expect(result.output.hasSuffix("Authorization: Negotiate\n"), "\(result)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(station.directory)/config/ksso").isEmpty)
    }

    @Test func `ksso setup --system replaces another profile only with --force`() async throws {
        let file = try station.write(profile(hosts: ["b.test"]), to: "corp.yaml")
        let script = """
            mkdir /etc/ksso; echo 'Realm: X' >/etc/ksso/corp.yaml
            ksso setup --system "$1" || echo "refused: $?"
            cat /etc/ksso/corp.yaml
            ksso setup --system --force "$1"
            cmp "$1" /etc/ksso/corp.yaml
            """
        let result = try await run(script, file)
        #expect(result.exitStatus == 0 && result.output == "refused: 1\nRealm: X\n/etc/ksso/corp.yaml: replaced\n", "\(result)")
    }

    @Test func `ksso setup --system requires root`() async throws {
        let file = try station.write(profile(), to: "corp.yaml")
        let result = try await run(
            """
            chmod -R a+rX "$2"; chmod a+x "${2%/*}"
            setpriv --reuid=65534 --regid=65534 --clear-groups ksso setup --system "$1" || echo "refused: $?"
            [ ! -e /etc/ksso ]
            """,
            file,
            station.directory
        )
        #expect(result.exitStatus == 0 && result.output == "refused: 1\n", "\(result)")
        #expect(result.errors == "ksso: --system requires root, because it writes to /etc/ksso.\n")
    }
}
