import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Tickets that a stopped agent left on disk: the commands that find no session report them.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]), .timeLimit(.minutes(5)))
struct KeptTicketsTests {
    @Test func `a command that finds no session reports the tickets of a stopped agent once`() async throws {
        let station = try Workstation()
        try station.install(profile())
        try await station.withAgent { _ async throws in try await station.signIn() }
        let words =
            "he agent is not running, and has tickets in \(station.runtime)/tickets. To use or destroy them, first run: "
            + "ksso agent run --background\n"
        func count(_ text: String) -> Int { text.components(separatedBy: words).count - 1 }
        try await withAcceptorServer(realm: station.realm) { server in
            let url = "http://localhost:\(server.port)/"
            let commands = [["status"], ["refresh"], ["switch", "alice"], ["header", url], ["logout", "alice"], ["fetch", url]]
            for command in commands {
                let result = try await station.run(["ksso"] + command)
                #expect(count(result.errors) == 1 && count(result.output) == 0, "\(command): \(result)")
            }
        }
        let doctor = try await station.ksso("doctor")
        #expect(count(doctor.output) == 1 && doctor.output.contains("\n    The agent is not running"), "\(doctor)")
        let status = try await station.ksso("status", "--json")
        #expect(!(status.output + status.errors).contains("is not running"), "\(status)")
        let login = try await station.ksso("login", "alice", "--password-stdin", input: "secret\n")
        #expect(login.exitStatus == 0 && count(login.errors) == 1 && count(login.output) == 0, "\(login)")
        // With a session there is nothing to report.
        for command in [["status"], ["refresh"]] {
            let result = try await station.run(["ksso"] + command)
            #expect(result.exitStatus == 0 && count(result.errors) == 0, "\(result)")
        }
    }
}
