import BenchmarkSupport
import Foundation
import KerberosTesting

/// A realm with alice signed in, and an Apache with a protected page.
struct Site: Sendable {
    let realm: TestRealm
    let server: ProtectedWebServer
    /// The certificate to trust for HTTPS.
    let certificate: String?

    /// The text of the protected page; any other body is a failure.
    var greeting: String { "Hello alice@\(realm.name)\n" }
    var service: String { "HTTP/localhost@\(realm.name)" }
    /// The cache with alice's tickets for all clients: the default cache of ``TestRealm/environment``.
    var cache: String { "FILE:\(realm.directory)/ccache" }

    nonisolated(nonsending) static func with(
        usesTLS: Bool,
        _ body: nonisolated(nonsending) (Site) async throws -> Void
    ) async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            // A replay cache would measure the disk.
            let options = ProtectedWebServerOptions(usesReplayCache: false, usesTLS: usesTLS)
            try await withProtectedWebServer(realm: realm, options) { server in
                let site = Site(realm: realm, server: server, certificate: usesTLS ? server.certificatePath : nil)
                try await site.signIn()
                try await body(site)
            }
        }
    }

    /// Stores alice's tickets in the cache, including the one for the service, so that no client needs the KDC.
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
}
