import BenchmarkSupport
import CFloor
import Foundation
import KerberosTesting

/// Requests that an agent answers while callgrind counts the agent's instructions.
enum AgentLoad: String, CaseIterable {
    case retrieve, token, authorize

    var title: String {
        switch self {
        case .retrieve: "agent: RETRIEVE from a cache with one ticket"
        case .token: "agent: the requests of a token, on a new connection"
        case .authorize: "agent: POST /v1/authorize"
        }
    }

    /// An agent in a folder of its own below the realm's.
    private struct Agent {
        let program: String
        let realm: TestRealm
        let folder: String

        var apiSocket: String { "\(folder)/agent.sock" }

        /// The second variable is the one for which the agent would execute itself, which valgrind does not permit.
        var environment: [String: String] {
            realm.environment.merging(Callgrind.environment) { $1 }.merging([
                "KSSO_RUNTIME_DIR": folder, "KSSO_PROFILE": "\(folder).yaml",
                "GLIBC_TUNABLES": "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0",
            ]) { $1 }
        }

        /// The variables of a program that uses the agent's caches.
        var clientEnvironment: [String: String] {
            ["KRB5_CONFIG": "\(folder)/krb5.conf:\(realm.configurationPath)", "KRB5CCNAME": "KCM:", "KRB5_TRACE": ""]
        }

        func writeProfile() throws {
            let text = """
                ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension
                Type: Credential
                Realm: \(realm.name)
                Hosts: [localhost]
                PlainHTTPHosts: [localhost]

                """
            try text.write(toFile: "\(folder).yaml", atomically: true, encoding: .utf8)
        }

        /// Waits until the agent listens, at most a minute.
        func listens(_ process: BackgroundProcess) async throws {
            for _ in 0..<3000 where !FileManager.default.fileExists(atPath: apiSocket) { try await Task.sleep(for: .milliseconds(20)) }
            guard FileManager.default.fileExists(atPath: apiSocket) else { throw Unavailable(reason: process.output) }
        }
    }

    func count(of program: String, in realm: TestRealm) async throws -> Double {
        try await Callgrind.perRepetition { repetitions in
            let agent = Agent(program: program, realm: realm, folder: "\(realm.directory)/\(rawValue)-\(repetitions)")
            try agent.writeProfile()
            var environment = agent.environment
            environment["KRB5CCNAME"] = nil
            let (command, log) = (try Callgrind.command([program, "agent", "run"], profile: rawValue), "\(agent.folder).log")
            try await BackgroundProcess.with(command, environment: environment, logPath: log, exitLimit: .seconds(60)) { process in
                try await agent.listens(process)
                try await send(repetitions, to: agent)
            }
            return try Callgrind.instructions(in: String(contentsOfFile: log, encoding: .utf8))
        }
    }

    private func send(_ repetitions: Int, to agent: Agent) async throws {
        let realm = agent.realm
        guard self == .authorize else {
            let source = realm.environment["KRB5CCNAME"] ?? ""
            let arguments = ["cache", rawValue, "\(repetitions)", source, "HTTP/localhost@\(realm.name)"]
            let result = try await realm.run(try ownPath(), arguments, environment: agent.clientEnvironment)
            guard result.exitStatus == 0 else { throw Unavailable(reason: result.errors) }
            return
        }
        let signIn = try await realm.run("kinit", ["alice"], environment: agent.clientEnvironment, input: "secret\n")
        guard signIn.exitStatus == 0 else { throw Unavailable(reason: signIn.errors) }
        let body = #"{"url":"http://localhost/","keepsExchange":false}"#
        let head =
            "POST /v1/authorize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        var latencies = [Double](repeating: 0, count: repetitions)
        let seconds = cfloor_load(agent.apiSocket, head + body, "Negotiate ", 1, UInt32(repetitions), &latencies)
        guard seconds > 0 else { throw Unavailable(reason: "the agent did not answer every request") }
    }
}

/// The libkrb5 program that uses the agent's cache. It is a separate process because it finds the agent through `KRB5_CONFIG`.
enum CacheLoad {
    static func run(_ arguments: ArraySlice<String>) throws {
        let words = Array(arguments)
        guard words.count == 4, let load = AgentLoad(rawValue: words[0]), let repetitions = UInt32(words[1]) else {
            throw Unavailable(reason: "cache: wrong arguments")
        }
        guard let cache = cfloor_cache_open("KCM:", words[2], words[3], 0) else { throw Unavailable(reason: "KCM: did not open") }
        defer { cfloor_cache_close(cache) }
        guard cfloor_cache_fill(cache, 1, 60) == 1 else { throw Unavailable(reason: String(cString: cfloor_cache_error(cache))) }
        let time = load == .retrieve ? cfloor_cache_retrieve(cache, repetitions) : cfloor_cache_held_token(cache, repetitions)
        guard time > 0 else { throw Unavailable(reason: String(cString: cfloor_cache_error(cache))) }
    }
}
