import AsyncHTTPClient
import NIOCore
import NegotiateAsyncHTTPClient
import SignOnPolicy
import TestSupport

extension ScriptedServer {
    func request(_ host: String = "a.localhost", _ path: String = "/") -> HTTPClientRequest { HTTPClientRequest(url: url(host, path)) }
}

/// A configuration that maps every host of these tests to loopback.
func loopback(_ change: (inout NegotiatingHTTPClient.Configuration) -> Void = { _ in }) -> NegotiatingHTTPClient.Configuration {
    var configuration = NegotiatingHTTPClient.Configuration()
    for host in ["a.localhost", "b.localhost", "elsewhere.localhost"] { configuration.connections.dnsOverride[host] = "127.0.0.1" }
    change(&configuration)
    return configuration
}

/// Runs a server, and a client for it.
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
