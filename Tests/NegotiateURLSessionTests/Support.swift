import Foundation
import FoundationNetworking
import HTTPNegotiate
import NegotiateURLSession
import TestSupport
import Testing

extension ScriptedServer {
    func request(_ host: String = "a.localhost", _ path: String = "/") throws -> URLRequest {
        URLRequest(url: try #require(URL(string: url(host, path))))
    }
}

/// A configuration with its own cookie storage.
func settings(_ change: (inout NegotiatingURLSession.Configuration) -> Void = { _ in }) -> NegotiatingURLSession.Configuration {
    var configuration = NegotiatingURLSession.Configuration()
    configuration.session = .ephemeral
    change(&configuration)
    return configuration
}

/// Runs a server, and a session for it.
func withServer<Return>(
    extension credentialExtension: ScriptedExtension? = nil,
    configuration: NegotiatingURLSession.Configuration = settings(),
    script: @escaping ScriptedServer.Script,
    isolation: isolated (any Actor)? = #isolation,
    _ body: (ScriptedServer, NegotiatingURLSession) async throws -> Return
) async throws -> Return {
    let credentialExtension = try credentialExtension ?? ScriptedExtension()
    return try await ScriptedServer.run(script) { server in
        let session = NegotiatingURLSession(extension: credentialExtension, unboundTLS: .allowed, configuration: configuration)
        defer { session.invalidateAndCancel() }
        return try await body(server, session)
    }
}

/// The response to a request.
struct Reply {
    let status: Int
    let headers: [String: String]
    let body: String
    let report: NegotiationReport

    var delivery: NegotiateExchange.Delivery { report.delivery }
}

extension NegotiatingURLSession {
    /// Sends a request and reads its body as text.
    func send(_ method: String = "GET", _ url: String, headers: [String: String] = [:], body: String? = nil) async throws -> Reply {
        var request = URLRequest(url: try #require(URL(string: url)))
        request.httpMethod = method
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        request.httpBody = body.map { Data($0.utf8) }
        let answer = try await negotiate(request)
        var fields: [String: String] = [:]
        for (name, value) in answer.response.allHeaderFields { fields["\(name)"] = "\(value)" }
        return Reply(
            status: answer.response.statusCode,
            headers: fields,
            body: String(decoding: answer.data, as: UTF8.self),
            report: answer.report
        )
    }
}
