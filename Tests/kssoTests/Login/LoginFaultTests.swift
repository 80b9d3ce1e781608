import Foundation
import KerberosTesting
import TestSupport
import Testing

extension Tag {
    /// The test waits for a deadline of ksso, about ten seconds.
    @Tag static var slow: Self
}

/// Sign-ins that fail because of the KDC, the clock or krb5.conf. Each test has a realm of its own.
@Suite struct LoginFaultTests {
    private static let users = ["alice": "secret"]

    @Test func `a stopped KDC fails only the commands that need it, with status 6`() async throws {
        try await withTestRealm(users: Self.users, services: ["HTTP/localhost"]) { realm in
            let station = try Workstation(realm: realm)
            try await station.signIn()
            try station.install(profile())
            try await realm.stopKDC()
            for command in [["login", "alice", "--force", "--password-stdin"], ["refresh"], ["header", "http://localhost/"]] {
                let result = try await station.run(["ksso"] + command, input: "secret\n")
                #expect(result.exitStatus == 6, "\(command): \(result)")
                #expect(result.output == "")
                #expect(result.errors.contains("no KDC of the realm can be reached ("), "\(result.errors)")
            }
            for command in [["status"], ["explain", "http://localhost/"], ["login", "alice"]] {
                #expect(try await station.run(["ksso"] + command).exitStatus == 0, "\(command)")
            }
            try await realm.startKDC()
            #expect(try await station.ksso("refresh").exitStatus == 0)
        }
    }

    /// libkrb5 reports "Resource temporarily unavailable" if no name server answers.
    @Test(.enabled(if: PrivateMounts.arePossible, Comment(rawValue: PrivateMounts.reason)), arguments: [false, true])
    func `without a network, KDCs that krb5.conf names cannot be reached`(usesKeytab: Bool) async throws {
        try await withTestRealm(users: Self.users) { realm in
            let station = try Workstation(realm: realm)
            let relations = "kdc = kdc1.corp.test\nkdc = kdc2.corp.test\n"
            let configuration = try station.write("[realms]\nEXAMPLE.TEST = {\n\(relations)}\n", to: "krb5.conf")
            let options = usesKeytab ? ["--keytab", try await realm.keytab(for: "alice")] : ["--password-stdin"]
            let command = ["unshare", "--net", "ksso", "login", "alice@EXAMPLE.TEST"] + options
            let result = try await station.run(command, input: "secret\n", environment: ["KRB5_CONFIG": configuration])
            #expect(result.exitStatus == 6, "\(result)")
            let sentence = "because no name server answers. Check the network or the VPN, then run: ksso doctor"
            #expect(result.errors.contains(sentence), "\(result)")
        }
    }

    /// Also checks that the password is in no argument that other users can see while the command waits.
    @Test(.tags(.slow)) func `a KDC that drops packets is reported after 10 seconds`() async throws {
        try await withTestRealm(users: Self.users) { realm in
            let station = try Workstation(realm: realm)
            try await realm.pauseKDC()
            let start = ContinuousClock.now
            async let waiting = station.ksso("login", "alice", "--password-stdin", input: "secret\n")
            try await eventually { visibleArguments(of: station.directory).contains { $0.hasPrefix("ksso\0login") } }
            #expect(!visibleArguments(of: station.directory).contains { $0.contains("secret") })
            let result = try await waiting
            let line =
                "alice@EXAMPLE.TEST: no KDC of EXAMPLE.TEST answered (no answer within 10.0 seconds). "
                + "Check the network or the VPN, then run: ksso doctor EXAMPLE.TEST"
            #expect(result == .failure(6, line))
            #expect(start.duration(to: .now) < .seconds(20), "libkrb5 alone waits for half a minute")
        }
    }

    @Test func `Ctrl-C cancels the wait for a KDC`() async throws {
        try await withTestRealm(users: Self.users) { realm in
            let station = try Workstation(realm: realm)
            try await realm.pauseKDC()
            let command = "trap : INT; ksso login alice; echo status=$?"
            _ = try await Conversation.atTerminal(command, on: station) { terminal in
                try await eventually { !visibleStates(of: "ksso\0login", in: station.directory).isEmpty }
                try await terminal.type("\u{03}")
                try await terminal.wait(for: "status=130\n")
            }
        }
    }

    @Test(arguments: [-3600, 3600])
    func `a clock that is off by an hour is reported with the remedy`(offset: Int) async throws {
        try await withTestRealm(.init(users: Self.users, clockOffset: .seconds(offset))) { realm in
            let station = try Workstation(realm: realm)
            let strict = try station.write("[libdefaults]\nkdc_timesync = 0\n", to: "strict.conf")
            let result = try await station.ksso(
                "login",
                "alice",
                "--password-stdin",
                input: "secret\n",
                environment: ["KRB5_CONFIG": "\(strict):\(realm.configurationPath)"]
            )
            let line =
                "alice@EXAMPLE.TEST: this machine's clock and the KDC's differ too much. "
                + "Set the clock (timedatectl set-ntp true), then try again."
            #expect(result == .failure(1, line))
        }
    }

    @Test func `an invalid krb5.conf is reported`() async throws {
        try await withTestRealm(users: Self.users) { realm in
            let station = try Workstation(realm: realm)
            let broken = try station.write("[libdefaults\ndefault_realm = X\n", to: "krb5.conf")
            let result = try await station.ksso(
                "login",
                "alice",
                "--password-stdin",
                input: "secret\n",
                environment: ["KRB5_CONFIG": broken]
            )
            #expect(result.exitStatus == 1)
            #expect(result.errors.contains("krb5.conf is invalid ("), "\(result.errors)")
            #expect(result.errors.contains("Correct /etc/krb5.conf, or the file named in KRB5_CONFIG."), "\(result.errors)")
        }
    }
}
