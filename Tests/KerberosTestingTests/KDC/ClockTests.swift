import Foundation
import Kerberos
import KerberosTesting
import Testing

/// Wrong clocks of the KDC, of a program, and of a client in this process.
@Suite struct ClockTests {
    private static let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/localhost"])
    /// With these options libkrb5 does not adopt the KDC's time.
    private static let strict = TestRealmOptions(users: ["alice": "secret"], clientRelations: ["kdc_timesync": "0"])

    private static let hasClockLibrary: Bool = {
        let folders = ["/usr/lib", "\(FileManager.default.currentDirectoryPath)/.build/unpacked/usr/lib"]
        return folders.contains { folder in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.contains { FileManager.default.fileExists(atPath: "\(folder)/\($0)/faketime/libfaketimeMT.so.1") }
        }
    }()

    private func signIn(_ realm: TestRealm, clockOffset: Duration = .zero) async throws -> Credential {
        let alice = try Principal("alice@EXAMPLE.TEST")
        return try await realm.makeClient(clockOffset: clockOffset).initialCredential(for: alice, using: .password(Secret("secret")))
    }

    @Test(arguments: [-3600, 3600])
    func `the KDC's clock can be changed while the realm runs`(seconds: Int) async throws {
        try await withTestRealm(Self.strict) { realm in
            _ = try await signIn(realm)
            try await realm.setKDCClock(offset: .seconds(seconds))
            #expect(await #expect(throws: KerberosError.self) { try await signIn(realm) }?.code == .clockSkew)
            try await realm.setKDCClock(offset: .zero)
            _ = try await signIn(realm)
        }
    }

    @Test(arguments: [-3600, 3600])
    func `a client in this process can have a wrong clock`(seconds: Int) async throws {
        try await withTestRealm(Self.strict) { realm in
            let error = await #expect(throws: KerberosError.self) { try await signIn(realm, clockOffset: .seconds(seconds)) }
            #expect(error?.code == .clockSkew)
            _ = try await signIn(realm)
        }
    }

    @Test func `a client with a wrong clock adopts the KDC's time`() async throws {
        try await withTestRealm(Self.options) { realm in
            let ticket = try await signIn(realm, clockOffset: .seconds(3600))
            #expect(ticket.isValid(at: Date()))
            #expect(abs(ticket.times.authenticated.timeIntervalSinceNow) < 60)
        }
    }

    @Test(.enabled(if: hasClockLibrary, "libfaketime is neither installed nor unpacked"), arguments: [-3600, 3600])
    func `a program can run with a wrong clock`(seconds: Int) async throws {
        try await withTestRealm(Self.strict) { realm in
            let error = await #expect(throws: KerberosTestingError.self) {
                try await realm.kinit("alice", password: "secret", clockOffset: .seconds(seconds))
            }
            #expect(error?.message.contains("Clock skew too great") == true)
            try await realm.kinit("alice", password: "secret")
            let date = try await realm.run("date", ["+%s"], clockOffset: .seconds(seconds)).output
            let now = try #require(Double(date.trimmingCharacters(in: .newlines)))
            #expect(abs(now - Date().timeIntervalSince1970 - Double(seconds)) < 60)
        }
    }

    @Test(.enabled(if: hasClockLibrary, "libfaketime is neither installed nor unpacked"))
    func `a ticket has expired for a program whose clock is a day ahead`() async throws {
        try await withTestRealm(Self.options) { realm in
            try await realm.kinit("alice", password: "secret")
            #expect(try await realm.run("klist", ["-s"]).exitStatus == 0)
            #expect(try await realm.run("klist", ["-s"], clockOffset: .seconds(86_400)).exitStatus == 1)
        }
    }

    @Test func `what libfaketime left for killed programs is removed`() async throws {
        try await withTestRealm { realm in
            let ended = try #require(Int(try await realm.run("sh", ["-c", "echo $$"]).output.trimmingCharacters(in: .newlines)))
            let folder = "\(realm.directory)/memory"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let kept = ["faketime_shm_\(getpid())", "sem.faketime_sem_\(getpid())", "faketime_shm_x", "sem.other_\(ended)"]
            for name in kept + ["faketime_shm_\(ended)", "sem.faketime_sem_\(ended)"] {
                try Data().write(to: URL(filePath: "\(folder)/\(name)"))
            }
            ClockLibrary.removeLeftovers(in: folder)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == kept.sorted())
        }
    }

    /// A shell that libfaketime is loaded into ends without its cleanup, and its server has another account than the tests.
    @Test(.enabled(if: hasClockLibrary, "libfaketime is neither installed nor unpacked"))
    func `a server with a wrong clock leaves no shared memory`() async throws {
        try await withTestRealm(Self.options) { realm in
            let processes = try await withProtectedWebServer(realm: realm, .init(clockOffset: .seconds(60))) { server in
                let group = try await realm.run("pgrep", ["-f", server.directory]).output
                #expect(try Self.memory().contains { group.split(separator: "\n").contains($0) })
                return group.split(separator: "\n")
            }
            #expect(try Self.memory().filter(processes.contains).isEmpty)
        }
    }

    /// The identifiers of the processes for which libfaketime has shared memory.
    private static func memory() throws -> [Substring] {
        try FileManager.default.contentsOfDirectory(atPath: "/dev/shm").filter { $0.contains("faketime") }.compactMap {
            $0.split(separator: "_").last
        }
    }

    @Test func `a missing libfaketime is reported with its package`() throws {
        let error = #expect(throws: KerberosTestingError.self) { try ClockLibrary.path(roots: ["/nonexistent"]) }
        #expect(error?.code == .programMissing)
        #expect(error?.message.contains("apt-get install libfaketime") == true)
    }
}
