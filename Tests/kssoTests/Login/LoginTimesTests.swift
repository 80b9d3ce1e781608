import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso login` with `--lifetime`, `--renewable` and `--keytab`.
@Suite(.testRealm(.init(users: ["alice": "secret"], services: ["HTTP/localhost"], ticketLifetime: .seconds(10 * 86400))))
struct LoginTimesTests {
    let station: Workstation
    let realm: TestRealm

    init() throws {
        station = try Workstation()
        realm = station.realm
    }

    @Test(arguments: [
        ("10h", 36000), ("1d12h", 129_600), ("30m", 1800), ("90s", 90), ("7:30", 27000), ("0:0:45", 45), ("7200", 7200), ("2H", 7200),
        ("5h5", 18005),
    ])
    func `--lifetime sets the lifetime of the ticket`(text: String, seconds: Double) async throws {
        let now = Date()
        let result = try await station.ksso("login", "alice", "--password-stdin", "--lifetime", text, input: "secret\n")
        #expect(result.exitStatus == 0, "\(result.errors)")
        let session = try #require(try await station.status().sessions.first)
        #expect(abs(session.ticketExpires.timeIntervalSince(now) - seconds) < 20)
    }

    @Test func `--renewable sets how long the ticket can be renewed`() async throws {
        let now = Date()
        let result = try await station.ksso("login", "alice", "--password-stdin", "--renewable", "3d", input: "secret\n")
        #expect(result.exitStatus == 0, "\(result.errors)")
        let limit = try #require(try await station.status().sessions.first?.renewUntil)
        #expect(abs(limit.timeIntervalSince(now) - 3 * 86400) < 20)
    }

    @Test(arguments: ["", "0", "-5", "x", "5x", "h", "1:99", "1:2:3:4", "10 h", "1.5h", "99999999999999999999h", "٣h"])
    func `an invalid duration in --lifetime or --renewable is a usage error`(text: String) async throws {
        for option in ["--lifetime", "--renewable"] {
            let result = try await station.ksso("login", "alice", "--password-stdin", "\(option)=\(text)", input: "secret\n")
            #expect(result.exitStatus == 64, "\(option) \(text): \(result.errors)")
            #expect(result.output == "")
            #expect(result.errors.contains(option))
        }
    }

    @Test(arguments: [["--keytab", "x", "--password-stdin"], ["one", "two"], ["--nonsense"], ["--realm"]])
    func `invalid arguments of ksso login are a usage error`(arguments: [String]) async throws {
        let result = try await station.run(["ksso", "login"] + arguments)
        #expect(result.exitStatus == 64)
        #expect(result.errors.contains("Usage: ksso login"))
        #expect(result.output == "")
    }

    @Test func `ksso login --keytab signs in the given principal`() async throws {
        let keytab = try await realm.keytab(for: "alice")
        let result = try await station.ksso("login", "alice", "--keytab", keytab)
        #expect(result.output.hasPrefix("alice@EXAMPLE.TEST is signed in until "))
        #expect(result.exitStatus == 0)
        #expect(try await station.status().sessions.map(\.acquiredBy) == ["keytab"])
    }

    @Test func `without a principal ksso login --keytab uses the principal of the keytab`() async throws {
        let result = try await station.ksso("login", "--keytab", realm.keytabPath)
        #expect(result.output.hasPrefix("HTTP/localhost@EXAMPLE.TEST is signed in until "))
        #expect(result.exitStatus == 0)
    }

    @Test func `ksso login reports a missing keytab with its path`() async throws {
        let path = "\(station.directory)/nonexistent"
        for name in [["alice"], []] {
            let result = try await station.run(["ksso", "login"] + name + ["--keytab", path])
            #expect(result.exitStatus == 1)
            #expect(result.output == "")
            #expect(result.errors.contains(path), "\(result.errors)")
            #expect(result.errors.contains("nonexistent or empty") || result.errors.contains("cannot be read"), "\(result.errors)")
        }
    }

    @Test(arguments: ["", "this is no keytab", "\u{05}\u{02}"])
    func `ksso login reports an empty or damaged keytab in one line`(content: String) async throws {
        let path = try station.write(content, to: "broken.keytab")
        let result = try await station.ksso("login", "alice", "--keytab", path)
        #expect(result.exitStatus == 1)
        #expect(result.errors.hasPrefix("ksso: "))
        #expect(result.errors.contains("keytab"), "\(result.errors)")
        #expect(result.errors.split(separator: "\n").count == 1)
    }

    @Test func `ksso login reports a keytab without a key for the principal`() async throws {
        let result = try await station.ksso("login", "alice", "--keytab", realm.keytabPath)
        #expect(result.exitStatus == 1)
        #expect(result.errors.hasPrefix("ksso: alice@EXAMPLE.TEST: the keytab has no key for this principal ("), "\(result.errors)")
        #expect(result.errors.hasSuffix("List it with klist -k.\n"))
    }

    @Test func `ksso login reports a keytab with an outdated key`() async throws {
        try await realm.addUser("judy", password: "before")
        let keytab = try await realm.keytab(for: "judy")
        _ = try await realm.kadmin(["change_password", "-pw", "after", "judy"])
        let result = try await station.ksso("login", "judy", "--keytab", keytab)
        #expect(result.exitStatus == 1)
        #expect(result.errors.hasPrefix("ksso: judy@EXAMPLE.TEST: the key in the keytab is not the one in the KDC"), "\(result.errors)")
    }
}
