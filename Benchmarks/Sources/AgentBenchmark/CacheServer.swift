import BenchmarkSupport
import Foundation

/// One server of the KCM protocol.
struct CacheServer: Sendable {
    let name: String
    /// Runs a client of the server and returns its output.
    let run: @Sendable (_ client: [String]) async throws -> String

    static func own(_ agent: AgentProcess) -> CacheServer {
        CacheServer(name: "ours") { client in
            try await agent.bench.run(client[0], Array(client.dropFirst()), environment: agent.environment)
        }
    }

    /// Both listen on the same fixed path, so each runs in its own mount namespace together with its client.
    static func peers(_ bench: Bench) async -> [CacheServer] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: ".build/unpacked").path
        let script = Bundle.module.path(forResource: "peers", ofType: "sh") ?? "peers.sh"
        let missing: String?
        do {
            if geteuid() != 0 { throw Unavailable(reason: "its mount namespace requires root") }
            _ = try await bench.run("sh", [script, "unpack", folder])
            missing = nil
        } catch {
            missing = "\(error)"
        }
        return [("sssd-kcm 2.8", "sssd"), ("Heimdal's kcm 7.8", "heimdal")].map { name, word in
            CacheServer(name: name) { client in
                if let missing { throw Unavailable(reason: missing) }
                let words = ["--mount", "--fork", "--kill-child", "sh", script, "serve", word, folder] + client
                return try await bench.run("unshare", words)
            }
        }
    }
}
