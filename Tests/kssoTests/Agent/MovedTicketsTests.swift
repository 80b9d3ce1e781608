import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// An agent moves the tickets of `ksso login` from the system's default cache, where klist looks for them.
@Suite(.testRealm(users: ["alice": "secret"]), .timeLimit(.minutes(5)))
struct MovedTicketsTests {
    let station: Workstation

    init() throws { station = try Workstation() }

    private static let note =
        "Moved the tickets of alice@EXAMPLE.TEST into the agent. To share the tickets with this shell: eval \"$(ksso env)\"; "
    private var served: String { "The agent serves in \(station.runtime). Stop it with: ksso agent stop\n" }

    @Test func `ksso agent run --background reports that it has moved the tickets, and how programs find them`() async throws {
        try await station.signIn()
        try await station.withBackgroundAgent { result in
            let advice = "with all later sessions: ksso configure session --install\n"
            #expect(result == CommandResult(exitStatus: 0, output: served, errors: Self.note + advice))
            #expect(try await station.run(["klist", "-s"]).exitStatus == 1)
            let list = try await station.run(["sh", "-c", "eval \"$(ksso env)\"; klist"])
            #expect(list.output.contains("\nDefault principal: alice@EXAMPLE.TEST\n"), "\(list)")
        }
    }

    @Test func `in a configured session, ksso agent run --background recommends a new login`() async throws {
        #expect(try await station.ksso("configure", "session", "--install").exitStatus == 0)
        try await station.signIn()
        try await station.withBackgroundAgent { result in
            #expect(result == CommandResult(exitStatus: 0, output: served, errors: "\(Self.note)with all programs: log in again.\n"))
        }
    }

    /// klist finds these tickets: a copy of kinit's ticket leaves the other one in place, and a configured shell uses the agent's cache.
    @Test(arguments: [true, false]) func `ksso agent run --background prints nothing if klist finds the tickets`(isOwn: Bool) async throws {
        if isOwn {
            try await station.signIn()
        } else {
            #expect(try await station.run(["kinit", "alice"], input: "secret\n").exitStatus == 0)
        }
        // The agent finds the first cache in its krb5.conf, because a configured shell sets no KRB5CCNAME.
        let system = try station.write("[libdefaults]\ndefault_ccache_name = \(station.cache)\n", to: "system.conf")
        let files = ["\(station.runtime)/krb5.conf", system, station.realm.configurationPath].joined(separator: ":")
        let words = isOwn ? ["env", "-u", "KRB5CCNAME", "KRB5_CONFIG=\(files)"] : ["env"]
        let result = try await station.run(words + ["ksso", "agent", "run", "--background"])
        let process = try? await station.agentStatus().process.processID
        defer { if let process { kill(process, SIGKILL) } }
        #expect(result == .done(served))
        #expect(try await station.run(words + ["klist", "-s"]).exitStatus == 0)
    }

    @Test func `an agent in the foreground logs that it has moved the tickets`() async throws {
        try await station.signIn()
        let (_, transcript) = try await station.withAgent { _ in }
        let line =
            "ksso: the tickets of alice@EXAMPLE.TEST were moved to the agent. To share the tickets with a shell: eval \"$(ksso env)\"\n"
        #expect(transcript == line)
    }
}
