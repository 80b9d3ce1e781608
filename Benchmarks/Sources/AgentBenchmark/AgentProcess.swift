import BenchmarkSupport
import Foundation

/// A running agent with its own directory.
struct AgentProcess: Sendable {
    let bench: Bench
    let folder: String
    private(set) var process: Int32 = 0

    private init(bench: Bench, folder: String) {
        self.bench = bench
        self.folder = folder
    }

    var apiSocket: String { "\(folder)/agent.sock" }

    /// The environment of programs that share its tickets. Without a file, libkrb5 writes no trace, which would double the cost of a token.
    var environment: [String: String] {
        [
            "KSSO_RUNTIME_DIR": folder, "KSSO_PROFILE": profile, "KRB5CCNAME": "KCM:",
            "KRB5_CONFIG": "\(folder)/krb5.conf:\(bench.realm.configurationPath)", "KRB5_TRACE": "",
        ]
    }

    private var profile: String { "\(folder).yaml" }

    /// Runs an agent while the body runs.
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
        // The agent finds the realm through krb5.conf as any program does; its own file comes first.
        _ = try await ksso(["agent", "run", "--background"])
        struct Document: Decodable {
            struct Process: Decodable { let processID: Int32 }
            let process: Process
        }
        let status = try await ksso(["agent", "status", "--json"])
        process = try JSONDecoder().decode(Document.self, from: Data(status.utf8)).process.processID
    }

    /// Runs the command in the environment of the agent's user.
    func ksso(_ arguments: [String], input: String? = nil) async throws -> String {
        var environment = environment
        environment["KRB5_CONFIG"] = bench.realm.configurationPath
        environment["KRB5CCNAME"] = nil
        return try await bench.run(bench.ksso, arguments, environment: environment, input: input)
    }

    /// Stores alice's ticket in the agent's cache through libkrb5.
    func signIn() async throws { _ = try await bench.run("kinit", ["alice"], environment: environment, input: "secret\n") }

    /// The kernel's statistics of the process.
    func statistics() throws -> ProcessStatistics { try ProcessStatistics(process) }

    /// Waits at most one minute until the agent is idle: it checks its tickets some time after they changed.
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
