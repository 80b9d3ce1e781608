import BenchmarkSupport
import Foundation

/// A running agent with a folder of its own.
struct AgentProcess: Sendable {
    let bench: Bench
    let folder: String
    private var process: Int32 = 0

    private init(bench: Bench, folder: String) {
        self.bench = bench
        self.folder = folder
    }

    var apiSocket: String { "\(folder)/agent.sock" }

    /// What programs that share its tickets have.
    var environment: [String: String] {
        [
            "KSSO_RUNTIME_DIR": folder, "KSSO_PROFILE": profile, "KRB5CCNAME": "KCM:",
            "KRB5_CONFIG": "\(folder)/krb5.conf:\(bench.realm.configurationPath)",
        ]
    }

    private var profile: String { "\(folder).yaml" }

    /// Starts an agent, and stops it after the body.
    nonisolated(nonsending) static func with(
        _ bench: Bench,
        _ body: nonisolated(nonsending) (AgentProcess) async throws -> Void
    ) async throws {
        var agent = AgentProcess(bench: bench, folder: "\(bench.realm.directory)/\(UInt32.random(in: 0...UInt32.max))")
        try await agent.start()
        do {
            try await body(agent)
        } catch {
            _ = try? await agent.ksso(["agent", "stop"])
            throw error
        }
        _ = try await agent.ksso(["agent", "stop"])
    }

    private mutating func start() async throws {
        let text = """
            ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension
            Type: Credential
            Realm: \(bench.realm.name)
            Hosts: [localhost]
            PlainHTTPHosts: [localhost]

            """
        try text.write(toFile: profile, atomically: true, encoding: .utf8)
        // The agent finds the realm as any program does; the file of its own goes in front.
        _ = try await ksso(["agent", "run", "--background"])
        struct Document: Decodable {
            struct Process: Decodable { let processID: Int32 }
            let process: Process
        }
        let status = try await ksso(["agent", "status", "--json"])
        process = try JSONDecoder().decode(Document.self, from: Data(status.utf8)).process.processID
    }

    /// Runs the command, as the agent's user has it.
    func ksso(_ arguments: [String], input: String? = nil) async throws -> String {
        var environment = environment
        environment["KRB5_CONFIG"] = bench.realm.configurationPath
        environment["KRB5CCNAME"] = nil
        return try await bench.run(bench.ksso, arguments, environment: environment, input: input)
    }

    /// Puts alice's ticket into the agent's cache, as any program does.
    func signIn() async throws { _ = try await bench.run("kinit", ["alice"], environment: environment, input: "secret\n") }

    /// What the kernel says of the process.
    func statistics() throws -> ProcessStatistics { try ProcessStatistics(process) }

    /// Waits until the agent has nothing left to do, a minute at most: it looks at its tickets a while after they changed.
    func settle() async throws {
        var last = -1.0
        for _ in 0..<60 {
            let seconds = try statistics().seconds
            guard seconds != last else { return }
            last = seconds
            try await Task.sleep(for: .seconds(1.5))
        }
    }
}
