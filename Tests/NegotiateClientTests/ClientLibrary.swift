import AsyncHTTPClient
import Foundation
import FoundationNetworking
import HTTPNegotiate
import NegotiateAsyncHTTPClient
import NegotiateURLSession
import TestSupport
import Testing

/// The HTTP libraries that the shared suites test.
enum ClientLibrary: CaseIterable, Sendable, CustomTestStringConvertible {
    case asyncHTTPClient
    /// AsyncHTTPClient, over an `HTTPClient` that was made elsewhere.
    case givenHTTPClient
    case urlSession

    /// The libraries that make their own connections: they keep one for the requests of an identity, and close it at shutdown.
    static let makingConnections: [ClientLibrary] = [.asyncHTTPClient, .urlSession]

    var testDescription: String {
        switch self {
        case .asyncHTTPClient: "AsyncHTTPClient"
        case .givenHTTPClient: "a given HTTPClient"
        case .urlSession: "URLSession"
        }
    }

    var makesConnections: Bool { Self.makingConnections.contains(self) }

    /// Whether one connection may carry requests with these `Authorization` fields, in this order.
    func mayCarry(_ fields: [String?]) -> Bool {
        // The pool of a given client uses any connection for any request, so a connection is closed after a token.
        makesConnections ? Set(fields).count == 1 : fields.dropLast().allSatisfy { $0 == nil }
    }

    func makeClient(extension credentialExtension: any CredentialExtension, settings: ClientSettings = ClientSettings()) -> any Client {
        switch self {
        case .asyncHTTPClient:
            var configuration = settings.applied(to: NegotiatingHTTPClient.Configuration())
            configuration.connections.dnsOverride = Self.loopback
            return AsyncClient(NegotiatingHTTPClient(extension: credentialExtension, configuration: configuration), settings.timeout)
        case .givenHTTPClient:
            var connections = HTTPClient.Configuration(redirectConfiguration: .disallow)
            connections.dnsOverride = Self.loopback
            connections.connectionPool.retryConnectionEstablishment = false
            let given = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: connections)
            let client = NegotiatingHTTPClient(
                extension: credentialExtension,
                client: given,
                unboundTLS: .allowed,
                configuration: settings.applied(to: NegotiatingHTTPClient.Configuration())
            )
            return AsyncClient(client, settings.timeout, given: given)
        case .urlSession:
            var configuration = settings.applied(to: NegotiatingURLSession.Configuration())
            configuration.session = .ephemeral
            configuration.timeout = settings.timeout
            return NegotiatingURLSession(extension: credentialExtension, unboundTLS: .allowed, configuration: configuration)
        }
    }

    /// AsyncHTTPClient uses the resolver, which may not know these names.
    private static let loopback = Dictionary(
        uniqueKeysWithValues: ["localhost", "a.localhost", "b.localhost", "elsewhere.localhost"].map { ($0, "127.0.0.1") }
    )

    /// Runs the body with a client, and always shuts it down.
    func withClient<Return>(
        extension credentialExtension: any CredentialExtension,
        settings: ClientSettings = ClientSettings(),
        isolation: isolated (any Actor)? = #isolation,
        _ body: (any Client) async throws -> Return
    ) async throws -> Return {
        let client = makeClient(extension: credentialExtension, settings: settings)
        let result: Return
        do {
            result = try await body(client)
        } catch {
            try? await client.shutDown()
            throw error
        }
        try await client.shutDown()
        return result
    }

    /// Runs a server, and a client for it.
    func withServer<Return>(
        extension credentialExtension: ScriptedExtension? = nil,
        settings: ClientSettings = ClientSettings(),
        script: @escaping ScriptedServer.Script,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (ScriptedServer, any Client) async throws -> Return
    ) async throws -> Return {
        let credentialExtension = try credentialExtension ?? ScriptedExtension()
        return try await ScriptedServer.run(script) { server in
            try await withClient(extension: credentialExtension, settings: settings) { try await body(server, $0) }
        }
    }
}
