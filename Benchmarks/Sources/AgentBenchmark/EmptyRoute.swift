import BenchmarkSupport
import Foundation
import Hummingbird

/// A process whose HTTP server, that of the agent, reads the body of each request and answers with a constant: the limit of the agent's
/// API.
struct EmptyRoute: Sendable {
    static let name = "a route that does nothing"

    let path: String
    let process: Int32

    /// Runs the server while the body runs.
    nonisolated(nonsending) static func with(
        path: String,
        _ body: nonisolated(nonsending) (EmptyRoute) async throws -> Void
    ) async throws {
        let command = [try ownPath(), "route", path]
        try await BackgroundProcess.with(command, environment: ["PATH": "/usr/bin"], logPath: "\(path).log") { process in
            for _ in 0..<500 where !FileManager.default.fileExists(atPath: path) { try await Task.sleep(for: .milliseconds(20)) }
            guard FileManager.default.fileExists(atPath: path) else { throw Unavailable(reason: "the empty route: \(process.output)") }
            try await body(EmptyRoute(path: path, process: process.identifier))
        }
    }

    /// The process itself.
    static func run(_ arguments: ArraySlice<String>) async throws {
        guard let path = arguments.first else { throw Unavailable(reason: "route: wrong arguments") }
        let router = Router()
        router.post("/v1/authorize") { request, _ in
            _ = try await request.body.collect(upTo: 1 << 16)
            return #"{"headers":{"Authorization":"Negotiate none"}}"#
        }
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .unixDomainSocket(path: path))
        )
        try await application.runService()
    }
}
