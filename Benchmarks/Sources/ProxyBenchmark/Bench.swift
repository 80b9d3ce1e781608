import BenchmarkSupport
import CFloor
import Foundation
import KerberosTesting

/// A realm with alice signed in, an Apache with an open and a protected page, a squid that requires a ticket, and the server at the other
/// end of the tunnels.
struct Bench: Sendable {
    let realm: TestRealm
    let web: ProtectedWebServer
    let squid: Squid
    let programs: Programs
    /// The port of the server at the other end of the tunnels.
    let targetPort: Int

    /// The service ticket's principal, for Apache and squid.
    var service: String { "HTTP/localhost@\(realm.name)" }
    /// The cache with alice's tickets for all programs: the default cache of ``TestRealm/environment``.
    var cache: String { "FILE:\(realm.directory)/ccache" }
    /// The text of the protected page behind its first chunk.
    var greeting: String { "alice@\(realm.name)\n" }

    nonisolated(nonsending) static func with(
        programs: Programs,
        _ body: nonisolated(nonsending) (Bench) async throws -> Void
    ) async throws {
        let targetPort = Int(cfloor_target_start())
        guard targetPort > 0 else { throw Unavailable(reason: "the server for the tunnels cannot listen") }
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            // A replay cache would measure the disk.
            try await withProtectedWebServer(realm: realm, ProtectedWebServerOptions(usesReplayCache: false)) { web in
                try await Squid.with(realm) { squid in
                    let bench = Bench(realm: realm, web: web, squid: squid, programs: programs, targetPort: targetPort)
                    try await bench.signIn()
                    try await body(bench)
                }
            }
        }
    }

    /// Stores alice's tickets in the cache, including the one for the service, so that no program needs the KDC.
    private func signIn() async throws {
        _ = try await run("kinit", ["alice"], input: "secret\n")
        _ = try await run("kvno", [service])
    }

    /// Runs a program as alice and returns its output; throws its error output if it fails.
    func run(_ executable: String, _ arguments: [String], input: String? = nil) async throws -> String {
        let result = try await realm.run(executable, arguments, input: input)
        guard result.exitStatus == 0 else {
            throw Unavailable(reason: "\(executable) exited with \(result.exitStatus): \(result.errors.suffix(300))")
        }
        return result.output
    }

    /// The environment of the compared programs, in which no proxy is configured.
    var environment: [String: String] {
        let names = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"]
        return realm.environment.filter { !names.contains($0.key.lowercased()) }.merging(["HOME": realm.directory]) { $1 }
    }

    /// A port on loopback at which a program can listen, outside the range of the kernel's own choices.
    static func freePort() throws -> Int {
        for _ in 0..<200 {
            let port = Int.random(in: 20_000..<32_000)
            if cfloor_is_port_free(Int32(port)) != 0 { return port }
        }
        throw Unavailable(reason: "no port is free")
    }

    /// Waits until a program listens at a port; returns why it does not.
    static func failure(of process: BackgroundProcess, toListenAt port: Int) async throws -> Unavailable? {
        for _ in 0..<500 {
            if cfloor_is_listening(Int32(port)) != 0 { return nil }
            try await Task.sleep(for: .milliseconds(20))
        }
        let line = process.output.split(separator: "\n").last.map(String.init) ?? "it printed nothing"
        return Unavailable(reason: "does not listen: \(line.prefix(200))")
    }
}
