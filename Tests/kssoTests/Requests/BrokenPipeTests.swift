import Foundation
import KerberosTesting
import Testing

/// Commands whose standard output is a pipe without a reader.
@Suite(.protectedWeb)
struct BrokenPipeTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install(profile())
    }

    /// Runs a command whose output is a pipe that its reader has closed.
    private func run(_ command: String) async throws -> CommandResult {
        let script = """
            cd '\(station.directory)' && mkfifo pipe && { (exec 4<pipe) & } && exec 3>pipe && wait && rm pipe
            \(command) >&3
            echo status=$?
            """
        return try await station.run(["sh", "-c", script])
    }

    @Test func `a command whose output pipe is closed exits with status 141 and prints nothing`() async throws {
        try await station.signIn()
        let page = "\(try #require(WebTrait.server).url)/hello"
        for command in ["status", "status --json", "header \(page)", "fetch \(page)", "explain \(page)", "env", "--help"] {
            #expect(try await run("ksso \(command)") == .done("status=141\n"), "\(command)")
        }
    }
}
