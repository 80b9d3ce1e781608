import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// On a shared device, locking the screen or ending the login session signs the user out. The tests use the real systemd-logind.
@Suite(
    .enabled(if: LoginService.isPossible, Comment(rawValue: LoginService.reason)),
    .testRealm(users: ["alice": "secret", "bob": "secret"]),
    .timeLimit(.minutes(2))
)
struct ScreenLockTests {
    let station: Workstation
    private let desk = LoginService.Session("1", user: geteuid())

    init() throws { station = try Workstation() }

    private func exec(_ command: String...) async throws -> CommandResult { try await station.run(["ksso", "exec", "--"] + command) }

    /// Runs an agent with alice and bob signed in, and logind's bus in the station's folder.
    private func withAgent(_ keys: String, _ body: (LoginService, Conversation) async throws -> Void) async throws {
        try station.install(profile() + keys)
        try await LoginService.run(in: station.directory, sessions: [desk]) { service async throws in
            try await station.withAgent(environment: LoginService.environment(folder: station.directory)) { agent in
                try await station.signIn("alice")
                try await station.signIn("bob")
                let both = try await exec("klist", "-l").output
                #expect(both.contains("alice@EXAMPLE.TEST") && both.contains("bob@EXAMPLE.TEST"), "\(both)")
                try await body(service, agent)
            }
        }
    }

    private var eventsFile: String { "\(station.directory)/events" }
    /// The events that the agent has sent so far.
    private func receivedEvents() throws -> String {
        FileManager.default.fileExists(atPath: eventsFile) ? try String(contentsOfFile: eventsFile, encoding: .utf8) : ""
    }

    /// Locks the screen, and returns the agent's events up to the first sign-out.
    private func lock(_ service: LoginService) async throws -> String {
        let curl = ["curl", "-sSN", "-o", eventsFile, "--unix-socket", "\(station.runtime)/agent.sock", "http://agent/v1/events"]
        try await withDaemon(curl, on: station) { _ in
            // The stream is open as soon as its first comment has arrived.
            try await eventually { try !receivedEvents().isEmpty }
        } _: {
            try await service.setLocked(desk)
            _ = try await isSignedOut("alice")
            for _ in 0..<6 { if try await comesTrue({ try receivedEvents().contains("signedOut") }) { return } }
        }
        return try receivedEvents()
    }

    private func isSignedOut(_ name: String) async throws -> Bool {
        for _ in 0..<6 {
            if try await comesTrue({ try await !exec("klist", "-l").output.contains("\(name)@EXAMPLE.TEST") }) { return true }
        }
        return false
    }

    @Test func `locking the screen signs out every principal that is not exempt`() async throws {
        try await withAgent("SignOutOnLock: true\nSignOutExempt: [bob]\n") { service, agent async throws in
            let received = try await lock(service)
            let events = received.components(separatedBy: "\n\n").filter { !$0.contains("gotNewCredential") && $0.contains("event: ") }
            #expect(events.map { $0.contains("sessionEnding") } == [true, false], "\(received)")
            #expect(events.map { $0.contains("signedOut") } == [false, true] && events.allSatisfy { $0.contains("alice@") }, "\(received)")
            let list = try await exec("klist", "-l").output
            #expect(list.contains("bob@EXAMPLE.TEST") && !list.contains("alice@EXAMPLE.TEST"), "\(list)")
            #expect(try await station.status().sessions.map(\.principal) == ["bob@EXAMPLE.TEST"])
            try await agent.wait(for: "alice@EXAMPLE.TEST was signed out because the screen was locked (SignOutOnLock).")
        }
    }

    @Test func `the end of the login session signs out every principal that is not exempt`() async throws {
        try await withAgent("SignOutOnSessionEnd: true\nSignOutExempt: [alice]\n") { service, agent async throws in
            // With this profile a lock signs no one out.
            try await service.setLocked(desk)
            service.leave(desk)
            // logind sends no signal when a session starts to close, so the test causes another one.
            try await service.setLocked(desk, false)
            try await service.setLocked(desk)
            #expect(try await isSignedOut("bob"))
            let reason = "because the user's last login session ended (SignOutOnSessionEnd)"
            try await agent.wait(for: "bob@EXAMPLE.TEST was signed out \(reason).")
            #expect(try await exec("klist", "-l").output.contains("alice@EXAMPLE.TEST"))
        }
    }

    @Test(arguments: ["Cancel", "DoNotHandle"])
    func `requests while the screen is locked follow ScreenLockedBehavior`(behavior: String) async throws {
        try await withAgent("ScreenLockedBehavior: \(behavior)\n") { service, _ async throws in
            func ask() async throws -> CommandResult {
                try await station.run([
                    "curl", "-sS", "--max-time", "120", "--unix-socket", "\(station.runtime)/agent.sock", "-H",
                    "Content-Type: application/json", "-d", "{\"url\":\"http://localhost/\"}", "http://agent/v1/authorize",
                ])
            }
            let text = behavior == "Cancel" ? "\"canceled\"" : "screenLock"
            #expect(try await !ask().output.contains(text))
            try await service.setLocked(desk)
            #expect(try await comesTrue { try await ask().output.contains(text) })
            try await service.setLocked(desk, false)
            #expect(try await comesTrue { try await !ask().output.contains(text) })
            #expect(try await exec("klist", "-l").output.contains("alice@EXAMPLE.TEST"))
        }
    }

    @Test(arguments: [("SignOutOnLock: true\n", 1), ("", 0)])
    func `without a system bus the agent still works, and warns only if it needs logind`(keys: String, lines: Int) async throws {
        try station.install(profile() + keys)
        let end = try await station.withAgent(environment: LoginService.environment(folder: "\(station.directory)/none")) { agent in
            if lines > 0 { try await agent.wait(for: "systemd-logind does not respond") }
            try await station.signIn()
            #expect(try await exec("klist", "-s").exitStatus == 0)
        }
        #expect(end.status == 0)
        #expect(end.transcript.components(separatedBy: "systemd-logind does not respond").count - 1 == lines, "\(end.transcript)")
    }
}
