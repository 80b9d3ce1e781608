import AsyncHTTPClient
import Foundation
import HTTPNegotiate
import NIOCore
import NegotiateAsyncHTTPClient
import TestSupport

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

    func url(_ host: String = "a.test", _ path: String = "/") -> String { "http://\(host):\(port)\(path)" }

    func request(_ host: String = "a.test", _ path: String = "/") -> HTTPClientRequest { HTTPClientRequest(url: url(host, path)) }

    /// Which connection carried each request, and whether it had an `Authorization` field.
    var traffic: [Traffic] { requests.map { Traffic(connection: $0.connection, isAuthorized: $0.field("Authorization") != nil) } }

    struct Traffic: Hashable {
        let connection: Int
        let isAuthorized: Bool
    }
}

/// A configuration under which every host of these tests is on loopback.
func loopback(_ change: (inout NegotiatingHTTPClient.Configuration) -> Void = { _ in }) -> NegotiatingHTTPClient.Configuration {
    var configuration = NegotiatingHTTPClient.Configuration()
    for host in ["a.test", "b.test", "elsewhere.test", "x.covered.test"] { configuration.connections.dnsOverride[host] = "127.0.0.1" }
    change(&configuration)
    return configuration
}

/// Runs a server and a client of it.
func withServer<Return>(
    extension credentialExtension: ScriptedExtension,
    configuration: NegotiatingHTTPClient.Configuration = loopback(),
    script: @escaping ScriptedServer.Script,
    isolation: isolated (any Actor)? = #isolation,
    _ body: (ScriptedServer, NegotiatingHTTPClient) async throws -> Return
) async throws -> Return {
    try await ScriptedServer.run(script) { server in
        try await NegotiatingHTTPClient.withClient(extension: credentialExtension, configuration: configuration) { client in
            try await body(server, client)
        }
    }
}

extension HTTPClientResponse {
    /// The whole body as text.
    var text: String { get async throws { String(buffer: try await body.collect(upTo: 1 << 20)) } }
}
