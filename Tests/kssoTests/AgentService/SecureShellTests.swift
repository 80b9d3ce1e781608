import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// OpenSSH's ssh signs in with the agent's tickets.
@Suite(
    .enabled(if: StockProgram.isInstalled("ssh"), "ssh is missing: package openssh-client"),
    .enabled(if: StockProgram.sshd != nil, "sshd is missing: Scripts/install-packages unpacks it"),
    .enabled(if: PrivateMounts.arePossible, Comment(rawValue: PrivateMounts.reason)),
    .testRealm(users: ["alice": "secret"], services: ["host/localhost"])
)
struct SecureShellTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install(profile())
    }

    /// Creates the command of an sshd for one connection, on standard input and output, whose machine has a user alice.
    private func server() async throws -> String {
        let program = try #require(StockProgram.sshd)
        let folder = station.directory
        let users = try String(contentsOfFile: "/etc/passwd", encoding: .utf8)
        let more = "sshd:x:54322:65534::/run/sshd:/usr/sbin/nologin\nalice:x:54321:54321::/:/bin/sh\n"
        try station.write(
            users.split(separator: "\n").filter { !$0.hasPrefix("sshd:") }.joined(separator: "\n") + "\n" + more,
            to: "passwd"
        )
        #expect(try await station.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "\(folder)/hostkey"]).exitStatus == 0)
        let settings = """
            HostKey \(folder)/hostkey
            PidFile none
            StrictModes no
            UsePAM no
            GSSAPIAuthentication yes
            GSSAPIStrictAcceptorCheck no
            PubkeyAuthentication no
            PasswordAuthentication no
            KbdInteractiveAuthentication no

            """
        try station.write(settings, to: "sshd_config")
        let libraries = program.variables.map { "\($0)='\($1)'; export \($0)" }.joined(separator: "\n")
        let script = """
            #!/bin/sh
            \(libraries)
            exec unshare --mount sh -ec '
                mount --bind \(folder)/passwd /etc/passwd
                mount -t tmpfs none /run
                mkdir /run/sshd
                exec \(program.path) -i -e -f \(folder)/sshd_config 2>\(folder)/sshd.log'

            """
        let path = try station.write(script, to: "sshd")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        return path
    }

    private func ssh(_ server: String) async throws -> CommandResult {
        let options = [
            "GSSAPIAuthentication=yes", "PreferredAuthentications=gssapi-with-mic", "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "GlobalKnownHostsFile=/dev/null", "LogLevel=ERROR", "ProxyCommand=\(server)",
        ]
        let command = ["ssh", "-F", "/dev/null"] + options.flatMap { ["-o", $0] } + ["alice@localhost", "id -un"]
        return try await station.run(["ksso", "exec", "--"] + command)
    }

    @Test func `ssh signs in only while alice is signed in`() async throws {
        let server = try await server()
        try await withServingAgent(at: station) {
            let refused = try await ssh(server)
            #expect(refused.exitStatus == 255 && refused.errors.contains("Permission denied"), "\(refused)")
            try await station.signIn()
            #expect(try await ssh(server) == .done("alice\n"))
            let log = try String(contentsOfFile: "\(station.directory)/sshd.log", encoding: .utf8)
            #expect(log.contains("Accepted gssapi-with-mic for alice"), "\(log)")
            #expect(try await station.ksso("logout").exitStatus == 0)
            #expect(try await ssh(server).exitStatus == 255)
        }
    }
}
