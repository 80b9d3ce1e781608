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

    @Test(arguments: [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
    func `output that cannot be written is an error that gives the reason`(redirection: String, reason: String) async throws {
        try await station.signIn()
        let page = "\(try #require(WebTrait.server).url)/hello"
        for command in ["status", "fetch \(page)"] {
            let result = try await station.run(["sh", "-c", "ksso \(command) \(redirection)"])
            #expect(result == .failure(1, "the output cannot be written (\(reason))."), "\(command)")
        }
        let file = try await station.ksso("fetch", "-o", "/dev/full", page)
        #expect(file == .failure(1, "/dev/full: the file cannot be written (No space left on device)."))
    }

    @Test func `an empty URL is reported as such, and one without a scheme has https`() async throws {
        for command in ["fetch", "explain"] {
            let result = try await station.ksso(command, "")
            #expect(result.exitStatus == 64 && result.errors.contains("the URL is empty."), "\(result)")
        }
        #expect(try await station.ksso("doctor", "").errors.contains("the URL, host or realm is empty."))
        let explained = try await station.ksso("explain", "//localhost/page")
        #expect(explained.output.hasPrefix("https://localhost/page "), "\(explained)")
    }
}
