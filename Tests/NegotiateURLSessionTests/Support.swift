import Foundation
import FoundationNetworking
import HTTPNegotiate
import NegotiateURLSession
import TestSupport
import Testing

/// `Negotiate` and a made-up token, as it stands in a field.
func negotiate(_ token: String) -> String { "Negotiate " + Data(token.utf8).base64EncodedString() }

extension ScriptedServer.Reply {
    /// A page with a token of the server, by default the one that verifies.
    static func page(_ body: String = "hello", token: String? = "final", status: Int = 200) -> Self {
        .response(status, token.map { [("WWW-Authenticate", negotiate($0))] } ?? [], body: body)
    }
}

extension ScriptedServer {
    /// Challenges each request without credentials; otherwise answers with a page.
    static let protected: Script = { $0.field("Authorization") == nil ? .challenge : .page() }

    /// libcurl takes every name under `localhost` for loopback, without asking anyone.
    func url(_ host: String = "a.localhost", _ path: String = "/") -> String { "http://\(host):\(port)\(path)" }

    func request(_ host: String = "a.localhost", _ path: String = "/") throws -> URLRequest {
        URLRequest(url: try #require(URL(string: url(host, path))))
    }

    /// Which connection carried each request, and whether it had an `Authorization` field.
    var traffic: [Traffic] { requests.map { Traffic(connection: $0.connection, isAuthorized: $0.field("Authorization") != nil) } }

    struct Traffic: Hashable {
        let connection: Int
        let isAuthorized: Bool
    }
}

extension ScriptedServer.Request {
    /// The server's port, which each request names.
    var port: String { field("Host")?.split(separator: ":").last.map { String($0) } ?? "" }
}

/// An extension that covers `a.localhost`, `b.localhost` and the subdomains of `covered.localhost`, over plain http as well.
func scriptedExtension(
    answer: @escaping ScriptedExtension.Answer = { try ScriptedExtension.grant(for: $0) },
    change: (inout ExtensionConfiguration) throws -> Void = { _ in }
) throws -> ScriptedExtension {
    try ScriptedExtension(
        answer: answer,
        change: { configuration in
            let rules = try ["a.localhost", "b.localhost", ".covered.localhost"].map { try HostRule($0) }
            configuration.hosts = rules
            configuration.plainHTTPHosts = rules
            try change(&configuration)
        }
    )
}

/// A configuration with cookies of its own.
func settings(_ change: (inout NegotiatingURLSession.Configuration) -> Void = { _ in }) -> NegotiatingURLSession.Configuration {
    var configuration = NegotiatingURLSession.Configuration()
    configuration.session = .ephemeral
    change(&configuration)
    return configuration
}

/// Runs a server and a session for it.
func withServer<Return>(
    extension credentialExtension: ScriptedExtension? = nil,
    configuration: NegotiatingURLSession.Configuration = settings(),
    script: @escaping ScriptedServer.Script,
    isolation: isolated (any Actor)? = #isolation,
    _ body: (ScriptedServer, NegotiatingURLSession) async throws -> Return
) async throws -> Return {
    let credentialExtension = try credentialExtension ?? scriptedExtension()
    return try await ScriptedServer.run(script) { server in
        let session = NegotiatingURLSession(extension: credentialExtension, unboundTLS: .allowed, configuration: configuration)
        defer { session.invalidateAndCancel() }
        return try await body(server, session)
    }
}

/// What a request came to, whatever sent it.
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
