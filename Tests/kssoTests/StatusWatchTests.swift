import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso status --watch`: each change, for as long as somebody reads.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"]), .timeLimit(.minutes(5)))
struct StatusWatchTests {
    let station: Workstation

    init() throws { station = try Workstation() }

    /// Reads the next document: one line. What standard error says, which comes the same way here, is passed over.
    private func next(_ watch: Conversation) async throws -> StatusDocument {
        while true {
            let line = try await watch.wait(for: "\n")
            if !line.hasPrefix("ksso: ") { return try StatusDocument(json: line) }
        }
    }

    /// Reads documents until one tells of these principals.
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

    @Test func `with an agent`() async throws {
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

    /// A file is followed by its changes, a folder of several caches by looking.
    @Test(arguments: ["FILE:", "DIR:"]) func `without an agent`(type: String) async throws {
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

    @Test func `an agent comes and goes`() async throws {
        // A ticket of kinit stays where it is.
        #expect(try await station.run(["kinit", "bob"], input: "secret\n").exitStatus == 0)
        let status = try await watch { watch in
            try await wait(for: ["bob@EXAMPLE.TEST"], agent: false, watch)
            try await station.withAgent { _ in
                try await station.signIn("alice")
                // Bob's ticket of the default cache was taken over.
                try await wait(for: ["alice@EXAMPLE.TEST", "bob@EXAMPLE.TEST"], agent: true, watch)
            }
            try await wait(for: ["bob@EXAMPLE.TEST"], agent: false, watch)
            kill(watch.process, SIGINT)
        }
        #expect(status == 130)
    }

    @Test func `at a terminal`() async throws {
        let transcript = try await Conversation.atTerminal("ksso status --watch; echo status=$?", on: station) { terminal in
            try await terminal.wait(for: "  no one is signed in\n")
            try await station.signIn()
            try await terminal.wait(for: "  alice@EXAMPLE.TEST (default): signed in until ")
            try await terminal.wait(for: "\n")
            try await terminal.type("\u{03}")
        }
        #expect(transcript.status == 130, "\(transcript)")
    }

    /// Nothing has to change for it to see that nobody reads any more.
    @Test(arguments: ["ksso status --watch --json", "ksso status --watch"])
    func `a reader that ends`(command: String) async throws {
        let result = try await station.run(["bash", "-c", "\(command) | head -n 1; echo ${PIPESTATUS[0]}"])
        #expect(result.errors == "")
        #expect(result.output.split(separator: "\n").last == "141", "\(result)")
    }

    @Test(arguments: [["--quiet"], ["--valid-for", "10m"]])
    func `options that exclude it`(options: [String]) async throws {
        #expect(try await station.run(["ksso", "status", "--watch"] + options).exitStatus == 64)
    }
}
