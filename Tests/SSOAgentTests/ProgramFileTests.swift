import Foundation
import Subprocess
import TestSupport
import Testing

@testable import SSOAgent

/// How a process detects that an upgrade has replaced its program.
struct ProgramFileTests {
    private let folder = URL(filePath: NSTemporaryDirectory()).resolvingSymlinksInPath().path + "/ProgramFileTests-\(UUID().uuidString)"
    private var program: String { "\(folder)/program" }

    private func install() throws {
        let files = FileManager.default
        try files.copyItem(atPath: "/bin/cat", toPath: "\(program).new")
        #expect(rename("\(program).new", program) == 0)
    }

    /// The results of two checks.
    private func checks(_ file: inout ProgramFile) -> [Bool] { [file.wasReplaced(), file.wasReplaced()] }

    /// Runs a closure with the link in /proc of a process that runs the program, which waits for its input.
    private func whileRunning(_ body: @Sendable @escaping (String) throws -> Void) async throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try install()
        let result = try await run(
            .name("sh"),
            arguments: ["-c", #"exec "$0""#, program],
            input: .inputWriter,
            output: .discarded,
            error: .discarded
        ) { execution in
            let link = "/proc/\(execution.processIdentifier.value)/exe"
            try await eventually { try FileManager.default.destinationOfSymbolicLink(atPath: link) == program }
            try body(link)
            try await execution.standardInputWriter.finish()
        }
        #expect(result.terminationStatus.isSuccess)
    }

    @Test func `a program that is replaced counts at the second check`() async throws {
        try await whileRunning { link in
            var file = try #require(ProgramFile(link: link))
            #expect(file.path == program)
            #expect(checks(&file) == [false, false])
            try install()
            #expect(checks(&file) == [false, true])
        }
    }

    /// A package manager may start the new service while it still replaces files.
    @Test func `a program that was replaced before the first check counts too`() async throws {
        try await whileRunning { link in
            try install()
            var file = try #require(ProgramFile(link: link))
            #expect(file.path == program)
            #expect(checks(&file) == [false, true])
        }
    }

    /// It would be executed with the rights of this user. Only root can give a file away.
    @Test(arguments: geteuid() == 0 ? [true, false] : [false])
    func `a file that others can write does not replace a program`(isAnothers: Bool) async throws {
        try await whileRunning { link in
            var file = try #require(ProgramFile(link: link))
            try install()
            #expect((isAnothers ? chown(program, 65_534, 65_534) : chmod(program, 0o757)) == 0)
            #expect(checks(&file) == [false, false])
        }
    }

    /// As for a program below `/opt` that its administrator's account owns.
    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func `the owner of the running program may replace it`() async throws {
        try await whileRunning { link in
            #expect(chown(program, 65_534, 65_534) == 0)
            var file = try #require(ProgramFile(link: link))
            try install()
            #expect(chown(program, 65_534, 65_534) == 0)
            #expect(checks(&file) == [false, true])
        }
    }

    @Test func `a program that was removed is not replaced`() async throws {
        try await whileRunning { link in
            try FileManager.default.removeItem(atPath: program)
            var file = try #require(ProgramFile(link: link))
            #expect(file.path == program)
            #expect(checks(&file) == [false, false])
        }
    }
}
