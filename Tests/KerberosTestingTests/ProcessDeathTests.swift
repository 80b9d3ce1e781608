import Foundation
import KerberosTesting
import Testing

/// What is left of two realms and a web server when the test process dies without a chance to clean up.
@Suite struct ProcessDeathTests {
    @Test func nothingIsLeftAfterSIGKILL() async throws {
        let result = await #expect(processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]) {
            try await withEverything { kill(getpid(), SIGKILL) }
        }
        try await expectNothingLeft(by: result)
    }

    @Test func nothingIsLeftAfterATrap() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardOutputContent]) {
            try await withEverything { fatalError("as meant by the test") }
        }
        try await expectNothingLeft(by: result)
    }

    @Test func nothingIsLeftAfterExit() async throws {
        let result = await #expect(processExitsWith: .exitCode(7), observing: [\.standardOutputContent]) {
            try await withEverything { exit(7) }
        }
        try await expectNothingLeft(by: result)
    }

    private func expectNothingLeft(by result: ExitTest.Result?) async throws {
        let output = String(decoding: try #require(result).standardOutputContent, as: UTF8.self)
        let directories = output.split(separator: "\n").filter { $0.hasPrefix("folder ") }.map { String($0.dropFirst("folder ".count)) }
        #expect(directories.count == 3)
        for directory in directories {
            try await eventually { !FileManager.default.fileExists(atPath: directory) && processes(of: directory).isEmpty }
        }
    }
}

/// Two realms, one of them paused, and a web server; the folders are told without buffering, since the process dies at once.
private func withEverything(_ body: () -> Void) async throws {
    try await withTrustedRealms { first, second in
        try await withProtectedWebServer(realm: first) { server in
            try await second.pauseKDC()
            let lines = [first.directory, second.directory, server.directory].map { "folder \($0)\n" }
            FileHandle.standardOutput.write(Data(lines.joined().utf8))
            body()
        }
    }
}
