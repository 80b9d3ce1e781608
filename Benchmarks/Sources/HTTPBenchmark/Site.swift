import BenchmarkSupport
import Foundation
import KerberosTesting

/// A realm with alice signed in, and an Apache that greets her.
struct Site: Sendable {
    let realm: TestRealm
    let server: ProtectedWebServer
    /// The certificate to trust, over https.
    let certificate: String?

    /// What the protected page says; any other body counts as a failure.
    var greeting: String { "Hello alice@\(realm.name)\n" }
    var service: String { "HTTP/localhost@\(realm.name)" }
    /// Where alice's tickets are, for every client alike: the default cache of ``TestRealm/environment``.
    var cache: String { "FILE:\(realm.directory)/ccache" }

    nonisolated(nonsending) static func with(
        usesTLS: Bool,
        _ body: nonisolated(nonsending) (Site) async throws -> Void
    ) async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            // With a replay cache the disk would be what is measured.
            let options = ProtectedWebServerOptions(usesReplayCache: false, usesTLS: usesTLS)
            try await withProtectedWebServer(realm: realm, options) { server in
                let site = Site(realm: realm, server: server, certificate: usesTLS ? server.certificatePath : nil)
                try await site.signIn()
                try await body(site)
            }
        }
    }

    /// Puts alice's tickets into the cache, that for the service too, so that no client has to ask the KDC.
    private func signIn() async throws {
        _ = try await run("kinit", ["alice"], input: "secret\n")
        _ = try await run("kvno", [service])
    }

    /// Runs a program as alice; its output, or what it complained about as an error.
    func run(_ executable: String, _ arguments: [String], input: String? = nil) async throws -> String {
        let result = try await realm.run(executable, arguments, input: input)
        guard result.exitStatus == 0 else {
            throw Unavailable(reason: "\(executable) exited with \(result.exitStatus): \(result.errors.suffix(300))")
        }
        return result.output
    }
}
