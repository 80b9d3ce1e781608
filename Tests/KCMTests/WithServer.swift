import Foundation
import KerberosTesting
import TestSupport

@testable import KCM

/// A server that listens in a folder of its own.
struct RunningServer: Sendable {
    let server: KCMServer
    /// Has mode 0700 and is removed together with the server.
    let folder: String
    var path: String { "\(folder)/kcm.sock" }
}

/// Runs a closure with a server and shuts the server down afterwards, even after an error.
func withServer<R>(_ options: KCMServer.Options = KCMServer.Options.forEveryone(), _ body: (RunningServer) async throws -> R) async throws
    -> R
{
    try await withFolder { folder in
        let running = RunningServer(server: try KCMServer(options), folder: folder)
        let result: Result<R, any Error>
        do {
            try await running.server.serve(try ListeningSocket.bind(path: running.path))
            result = .success(try await body(running))
        } catch {
            result = .failure(error)
        }
        await running.server.shutDown()
        return try result.get()
    }
}

extension KCMServer.Options {
    /// The options of a server that permits every client.
    static func forEveryone(
        directory: String? = nil,
        storeLimits: StoreLimits = StoreLimits(),
        now: @escaping @Sendable () -> UInt32 = { UInt32(time(nil)) }
    ) -> Self {
        Self(directory: directory, storeLimits: storeLimits, isPermitted: { _ in true }, now: now)
    }
}

extension RunningServer {
    /// Runs one of libkrb5's programs in a realm, with this server as its default cache.
    func run(_ program: String, _ arguments: String..., in realm: TestRealm, input: String? = nil) async throws -> CommandResult {
        try await run(program, arguments, in: realm, input: input)
    }

    func run(_ program: String, _ arguments: [String], in realm: TestRealm, input: String? = nil) async throws -> CommandResult {
        let configuration = "\(folder)/krb5.conf"
        let text = "[libdefaults]\n    kcm_socket = \(path)\n    default_ccache_name = KCM:\n"
        try text.write(toFile: configuration, atomically: true, encoding: .utf8)
        let words = ["-u", "KRB5CCNAME", "KRB5_CONFIG=\(configuration):\(realm.configurationPath)", program] + arguments
        return try await realm.run("/usr/bin/env", words, input: input)
    }
}
