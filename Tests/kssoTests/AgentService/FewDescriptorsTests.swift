import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// An agent that may open few descriptors refuses connections before it lacks descriptors.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"]), .timeLimit(.minutes(5)))
struct FewDescriptorsTests {
    let station: Workstation
    /// Three for each event loop, which the agent has for each processor.
    private let limit = 128 + 3 * ProcessInfo.processInfo.processorCount

    init() throws {
        station = try Workstation()
        try station.install(profile())
    }

    private func descriptors(of process: Int32) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
    }

    @Test(arguments: [["kcm.sock"], ["agent.sock"], ["kcm.sock", "agent.sock"]])
    func `idle connections leave the agent free descriptors`(sockets: [String]) async throws {
        let end = try await station.withAgent(wrapper: ["prlimit", "--nofile=\(limit):\(limit)"]) { agent in
            try await station.signIn()
            let before = try descriptors(of: agent.process)
            var crowd: [Int32] = []
            defer { for descriptor in crowd { close(descriptor) } }
            for name in sockets {
                for _ in 0..<200 { crowd.append(try UnixSocket.connection(to: "\(station.runtime)/\(name)")) }
            }
            try await eventually { try descriptors(of: agent.process) >= before + 25 }
            // The agent has taken all connections from the sockets when it answers the last one.
            if !sockets.contains("agent.sock") { #expect(try await station.agentStatus().process.processID == agent.process) }
            if !sockets.contains("kcm.sock") { try await newCache() }
            #expect(try descriptors(of: agent.process) <= limit - 16)
            for descriptor in crowd { close(descriptor) }
            crowd = []
            try await eventually { try descriptors(of: agent.process) <= before + 2 }
            #expect(try await station.status().sessions.contains { $0.principal == "alice@EXAMPLE.TEST" })
            try await newCache()
        }
        #expect(end.status == 0 && !end.transcript.contains("connection"), "\(end)")
    }

    /// Creates a cache in the agent, and destroys it.
    private func newCache() async throws {
        let kinit = try await station.run(["ksso", "exec", "--", "kinit", "bob"], input: "secret\n")
        #expect(kinit.exitStatus == 0, "\(kinit)")
        #expect(try await station.run(["ksso", "exec", "--", "kdestroy", "-p", "bob"]).exitStatus == 0)
    }
}
