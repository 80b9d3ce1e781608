import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso status --watch`, which prints each change until it is interrupted or its reader exits.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"]), .timeLimit(.minutes(5)))
struct StatusWatchTests {
    let station: Workstation

    init() throws { station = try Workstation() }

    /// Reads the next document, which is one line. Lines of standard error arrive in the same stream and are skipped.
    private func next(_ watch: Conversation) async throws -> StatusDocument {
        while true {
            let line = try await watch.wait(for: "\n")
            if !line.hasPrefix("ksso: ") { return try StatusDocument(json: line) }
        }
    }

    /// Reads documents until one has these principals.
    private func wait(for principals: [String], agent: Bool, _ watch: Conversation) async throws {
        while true {
            let document = try await next(watch)
            if document.agent == agent, document.sessions.filter(\.signedIn).map(\.principal) == principals { return }
        }
    }

    private func watch(_ options: [String] = ["--json"], _ body: (Conversation) async throws -> Void) async throws -> Int {
        try await Conversation.with(["ksso", "status", "--watch"] + options, on: station) { watch in
            do {
                try await body(watch)
            } catch {
                kill(watch.process, SIGKILL)
                throw error
            }
        }.status
    }

    @Test func `with an agent --watch prints each sign-in and sign-out`() async throws {
        try await station.withAgent { _ in
            let status = try await watch { watch in
                try await wait(for: [], agent: true, watch)
                try await station.signIn("alice")
                try await wait(for: ["alice@EXAMPLE.TEST"], agent: true, watch)
                #expect(try await station.ksso("exec", "--", "kinit", "bob", input: "secret\n").exitStatus == 0)
                try await wait(for: ["bob@EXAMPLE.TEST", "alice@EXAMPLE.TEST"], agent: true, watch)
                #expect(try await station.ksso("logout", "--all").exitStatus == 0)
                try await wait(for: [], agent: true, watch)
                kill(watch.process, SIGINT)
            }
            #expect(status == 130)
        }
    }

    /// ksso watches a FILE cache for changes, and polls the folder of a DIR collection.
    @Test(arguments: ["FILE:", "DIR:"])
    func `without an agent --watch follows the changes of FILE and DIR caches`(type: String) async throws {
        try FileManager.default.createDirectory(
            atPath: "\(station.directory)/caches",
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let cache = type == "FILE:" ? station.cache : "DIR:\(station.directory)/caches"
        let variables = ["KRB5CCNAME": cache]
        let command = ["env", "KRB5CCNAME=\(cache)", "ksso", "status", "--watch", "--json"]
        let end = try await Conversation.with(command, on: station) { watch in
            try await wait(for: [], agent: false, watch)
            #expect(try await station.run(["kinit", "alice"], input: "secret\n", environment: variables).exitStatus == 0)
            try await wait(for: ["alice@EXAMPLE.TEST"], agent: false, watch)
            #expect(try await station.run(["kdestroy"], environment: variables).exitStatus == 0)
            try await wait(for: [], agent: false, watch)
            kill(watch.process, SIGINT)
        }
        #expect(end.status == 130)
    }

    @Test func `--watch follows an agent that starts and stops`() async throws {
        // A ticket of kinit stays in its cache.
        #expect(try await station.run(["kinit", "bob"], input: "secret\n").exitStatus == 0)
        let status = try await watch { watch in
            try await wait(for: ["bob@EXAMPLE.TEST"], agent: false, watch)
            try await station.withAgent { _ in
                try await station.signIn("alice")
                // The agent has imported bob's ticket from the default cache.
                try await wait(for: ["alice@EXAMPLE.TEST", "bob@EXAMPLE.TEST"], agent: true, watch)
            }
            try await wait(for: ["bob@EXAMPLE.TEST"], agent: false, watch)
            kill(watch.process, SIGINT)
        }
        #expect(status == 130)
    }

    @Test func `at a terminal --watch prints text until Ctrl-C`() async throws {
        let transcript = try await Conversation.atTerminal("ksso status --watch; echo status=$?", on: station) { terminal in
            try await terminal.wait(for: "  not signed in\n")
            try await station.signIn()
            try await terminal.wait(for: "  alice@EXAMPLE.TEST (default): signed in until ")
            try await terminal.wait(for: "\n")
            try await terminal.type("\u{03}")
        }
        #expect(transcript.status == 130, "\(transcript)")
    }

    /// ksso notices that the pipe has no reader even if no session changes.
    @Test(arguments: ["ksso status --watch --json", "ksso status --watch"])
    func `--watch exits when its reader exits`(command: String) async throws {
        let result = try await station.run(["bash", "-c", "\(command) | head -n 1; echo ${PIPESTATUS[0]}"])
        #expect(result.errors == "")
        #expect(result.output.split(separator: "\n").last == "141", "\(result)")
    }

    @Test func `--watch prints the time left`() async throws {
        try await station.signIn()
        let result = try await station.run(["bash", "-c", "ksso status --watch | head -n 1"])
        #expect(result.output.contains(/alice@EXAMPLE\.TEST \(default\): signed in until .* \(9 h left\)\n/), "\(result)")
    }

    @Test(arguments: [["--quiet"], ["--valid-for", "10m"]])
    func `--watch cannot be combined with --quiet or --valid-for`(options: [String]) async throws {
        #expect(try await station.run(["ksso", "status", "--watch"] + options).exitStatus == 64)
    }
}
