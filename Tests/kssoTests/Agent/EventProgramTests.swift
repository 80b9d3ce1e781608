import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso agent run --on-event` runs a program for each event of a session.
@Suite(.testRealm(users: ["alice": "secret"]), .timeLimit(.minutes(5)))
struct EventProgramTests {
    private func program(_ script: String, at station: Workstation, mode: Int = 0o700, as name: String = "program") throws -> String {
        let path = try station.write("#!/bin/sh\n\(script)\n", to: name)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    private func lines(_ name: String, at station: Workstation) -> [String] {
        let text = (try? String(contentsOfFile: "\(station.directory)/\(name)", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }

    @Test func `the program runs for kinit, a renewal and kdestroy, with details but no secret`() async throws {
        let station = try Workstation()
        let script = """
            cd "$HOME"
            env >variables
            echo "$0" >name
            [ "$KSSO_EVENT" = destroyed ] || klist >list-$KSSO_EVENT
            echo "$KSSO_EVENT $KSSO_PRINCIPAL $KSSO_REALM $KSSO_CACHE $KSSO_REASON $#" >>events
            """
        _ = try program(script, at: station)
        let link = "\(station.directory)/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "program")
        try await station.withAgent(["--on-event", link]) { _ async throws in
            let cache = "KCM:\(geteuid()):default"
            let steps: [(event: String, command: [String])] = [
                ("new", ["kinit", "-l", "1h", "-r", "1d", "alice"]), ("renewed", ["kinit", "-R"]), ("destroyed", ["kdestroy"]),
            ]
            for (count, step) in steps.enumerated() {
                let result = try await station.run(["ksso", "exec", "--"] + step.command, input: "secret\n")
                #expect(result.exitStatus == 0, "\(result)")
                try await eventually { lines("events", at: station).count > count }
                #expect(lines("events", at: station).last == "\(step.event) alice@EXAMPLE.TEST EXAMPLE.TEST \(cache)  0")
            }
            // Kerberos programs that the event program runs find the cache.
            #expect(lines("list-renewed", at: station).contains("Default principal: alice@EXAMPLE.TEST"))
            // The kernel gives an interpreter the path that was executed, which is the one that was checked.
            let executed = try #require(lines("name", at: station).first)
            #expect(executed.hasSuffix("/program") && executed.hasPrefix("/"), "\(executed)")
            let variables = lines("variables", at: station)
            for name in ["KSSO_EXPIRES", "KSSO_RENEW_UNTIL"] {
                let value = try #require(variables.first { $0.hasPrefix("\(name)=") }?.dropFirst(name.count + 1))
                #expect(value.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil, "\(value)")
            }
            #expect(!variables.contains { $0.contains("secret") || $0.hasPrefix("GLIBC_TUNABLES") || $0.hasPrefix("NOTIFY_SOCKET") })
        }
    }

    @Test func `the program runs once for a ticket that cannot be renewed, with the reason`() async throws {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            let station = try Workstation(realm: realm)
            try station.install(profile(data: ["RenewAtFraction: 0.2"]))
            let path = try program(#"echo "$KSSO_EVENT $KSSO_REASON" >>"$HOME/events""#, at: station)
            try await station.withAgent(["--on-event", path]) { _ async throws in
                let kinit = ["ksso", "exec", "--", "kinit", "-l", "60s", "-r", "1d", "alice"]
                #expect(try await station.run(kinit, input: "secret\n").exitStatus == 0)
                try await realm.stopKDC()
                try await eventually { lines("events", at: station).count == 2 }
                #expect(lines("events", at: station) == ["new ", "failed unreachable"])
            }
        }
    }

    @Test func `a program that exceeds its time limit is killed with its children and reported once`() async throws {
        let station = try Workstation()
        let path = try program(#"sleep 1000 & echo $! >>"$HOME/children"; echo $$ >>"$HOME/children"; wait"#, at: station)
        let (_, transcript) = try await station.withAgent(["--on-event", path, "--event-timeout", "5s"]) { _ async throws in
            for (count, command) in [["kinit", "alice"], ["kdestroy"]].enumerated() {
                #expect(try await station.run(["ksso", "exec", "--"] + command, input: "secret\n").exitStatus == 0)
                try await eventually {
                    let children = lines("children", at: station).compactMap { Int32($0) }
                    return children.count == 2 * (count + 1) && children.allSatisfy { kill($0, 0) != 0 }
                }
            }
        }
        let sentence = "the program of --on-event did not exit within 5 seconds and was killed with its children"
        #expect(transcript.components(separatedBy: sentence).count == 2, "\(transcript)")
    }

    @Test func `stopping the agent terminates the program and its children`() async throws {
        let station = try Workstation()
        let path = try program(#"sleep 1000 & echo $! >>"$HOME/children"; wait"#, at: station)
        try await station.withAgent(["--on-event", path]) { _ async throws in
            #expect(try await station.run(["ksso", "exec", "--", "kinit", "alice"], input: "secret\n").exitStatus == 0)
            try await eventually { lines("children", at: station).count == 1 }
        }
        let child = try #require(lines("children", at: station).first.flatMap { Int32($0) })
        try await eventually { kill(child, 0) != 0 }
    }

    @Test(arguments: [("exit 3", "exited with status 3."), ("kill -9 $$", "was terminated by signal 9.")])
    func `ksso agent status reports a program that fails`(_ script: String, _ end: String) async throws {
        let station = try Workstation()
        let path = try program(script, at: station)
        try await station.withAgent(["--on-event", path]) { _ async throws in
            #expect(try await station.run(["ksso", "exec", "--", "kinit", "alice"], input: "secret\n").exitStatus == 0)
            try await eventually {
                try await station.ksso("agent", "status").output.contains("\(path): the program of --on-event \(end)")
            }
        }
    }

    @Test func `a program that is missing, invalid or writable by others prevents the agent's start`() async throws {
        let station = try Workstation()
        let path = try program("exit 0", at: station, mode: 0o702)
        let groups = try program("exit 0", at: station, mode: 0o775, as: "groups")
        let open = "\(station.directory)/open"
        try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: false)
        try FileManager.default.copyItem(atPath: path, toPath: "\(open)/program")
        chmod("\(open)/program", 0o755)
        chmod(open, 0o777)
        let closed = try program("exit 0", at: station, as: "closed")
        // A user who can write to the folder can replace the link.
        try FileManager.default.createSymbolicLink(atPath: "\(open)/link", withDestinationPath: closed)
        let words = "other users can change this program, or a folder or link on its path"
        let cases: [(name: String, status: Int, words: String)] = [
            (path, 1, words), (groups, 1, words), ("\(open)/program", 1, words), ("\(open)/link", 1, words),
            ("\(station.directory)/none", 1, "there is no such program"),
            (station.directory, 1, "this is not a file"), ("/etc/passwd", 1, "the file is not executable"),
            ("notify-send", 64, "the path must be absolute"),
        ]
        for (name, status, words) in cases {
            for more in [[], ["--background"]] {
                let result = try await station.run(["ksso", "agent", "run", "--on-event", name] + more)
                #expect(result.exitStatus == status && result.errors.contains(words), "\(result)")
            }
        }
        #expect(try await station.ksso("agent", "run", "--machine", "--on-event", "/bin/true").exitStatus == 64)
        #expect(try await station.ksso("agent", "run", "--system", "--keep-expired", "1d").exitStatus == 64)
        #expect(try await station.ksso("agent", "run", "--event-timeout", "1s").exitStatus == 64)
        #expect(try await station.ksso("agent", "run", "--keep-expired", "7").exitStatus == 64, "a duration requires a unit")
    }
}
