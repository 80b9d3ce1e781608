public import AsyncHTTPClient
public import HTTPNegotiate
public import NIOCore
import NIOHTTP1

/// An HTTP client that answers Negotiate challenges with the tickets of a `CredentialExtension`.
///
/// ```swift
/// let http = NegotiatingHTTPClient(extension: sso)
/// let reply = try await http.execute(HTTPClientRequest(url: "https://intranet.example.com/"), timeout: .seconds(30))
/// try await http.shutdown()
/// ```
///
/// It makes and owns its connections. A request begins without credentials, except to hosts that the profile lets have a ticket unasked; a
/// 401 with `WWW-Authenticate: Negotiate` is answered when the extension answers, bound to the server's TLS certificate, and the server's
/// final token is verified before the response is handed on. A connection that carried a ticket is never used for another principal,
/// another service, another delegation or a request without credentials. A 407 is never answered.
///
/// Call ``shutdown()`` when it is no longer needed, or use ``withClient(extension:configuration:eventLoopGroup:isolation:_:)``; one that is
/// dropped closes its connections in the background. Safe to use from any task.
public final class NegotiatingHTTPClient: Sendable {
    /// How requests are sent and challenges answered.
    public let configuration: Configuration

    private let credentialExtension: any CredentialExtension
    private let connections: Connections
    private let unboundTLS: UnboundTLS
    private let memory = OriginMemory()
    private let calls = RunningCalls(shutDownError: .shutDown)

    private enum Connections {
        case own(OwnConnections)
        case given(GivenClient)
    }

    /// Makes a client that makes and owns its connections. Nothing is connected before the first request.
    ///
    /// - Parameters:
    ///   - credentialExtension: What holds the tickets.
    ///   - configuration: How requests are sent and challenges answered.
    ///   - eventLoopGroup: Where connections run; the group is not shut down with the client.
    public init(
        extension credentialExtension: any CredentialExtension,
        configuration: Configuration = Configuration(),
        eventLoopGroup: any EventLoopGroup = HTTPClient.defaultEventLoopGroup
    ) {
        self.credentialExtension = credentialExtension
        self.configuration = configuration
        connections = .own(OwnConnections(clients: ClientStore(connections: configuration.connections, eventLoopGroup: eventLoopGroup)))
        unboundTLS = .refused
    }

    /// Makes a client over an `HTTPClient` that was made elsewhere, for what can't give its connections up.
    ///
    /// That client hides its connections and certificates, so this much is lost: no ticket is bound to a TLS certificate; a server that
    /// wants several requests over one connection is not served; each request with a ticket closes its connection (over HTTP/2 it shares
    /// one with requests without). The client must not follow redirects by itself, and is not shut down with this one.
    ///
    /// - Parameters:
    ///   - credentialExtension: What holds the tickets.
    ///   - client: The client, made with `redirectConfiguration = .disallow`.
    ///   - unboundTLS: What becomes of a ticket for an https server that is to be bound to a certificate nobody sees.
    ///   - configuration: How challenges are answered; of its `connections` only `httpVersion` is looked at. Set that to
    ///     `.http1Only` if the client has it so: the client does not show it, and a request whose head is too large for HTTP/2 is refused
    ///     otherwise.
    public init(
        extension credentialExtension: any CredentialExtension,
        client: HTTPClient,
        unboundTLS: UnboundTLS,
        configuration: Configuration = Configuration()
    ) {
        self.credentialExtension = credentialExtension
        self.configuration = configuration
        self.unboundTLS = unboundTLS
        connections = .given(GivenClient(client: client, isHTTP1Only: configuration.connections.httpVersion == .http1Only))
    }

    /// Sends a request, answers a challenge and follows redirects; returns when the head of the last response is there.
    ///
    /// Where `CredentialExtension.decision(for:)` says that a challenge would be answered, the request may have to be sent
    /// twice. Its `body` is therefore read into memory first: one that comes in a single piece whatever its size, one that comes in several
    /// up to ``Configuration/maximumReplayableBody`` bytes. For anything larger give `body`, which makes the body anew each time. For any
    /// other host the request's own body is sent as it is, once, and a 307 or 308 that would need it again is handed on.
    ///
    /// A request that brings its own `Authorization` field is sent with it, and no challenge is answered for it.
    ///
    /// Throws `HTTPTransportError` for the transport and redirects; `AuthorizationError` for a URL that is none, a body
    /// that can't be replayed (before anything is sent), what the extension throws, a server that does not prove itself
    /// (`mutualAuthenticationFailed`, `invalidResponse`) and the deadline (`timedOut`); `CancellationError` when the task is cancelled.
    ///
    /// - Parameters:
    ///   - request: The request. Its URL is http or https.
    ///   - timeout: Time for everything up to the head of the last response: connections, tickets, legs and redirects.
    ///   - body: Makes the request's body, once for each time that it is sent. It takes the place of the request's own.
    /// - Returns: The response. Its body streams, and reading it may throw AsyncHTTPClient's errors. Its `history` has each response that
    ///   was handed on or followed, without the tokens that were sent.
    public func execute(
        _ request: HTTPClientRequest,
        timeout: Duration = .seconds(30),
        body: (@Sendable () async throws -> HTTPClientRequest.Body)? = nil
    ) async throws -> HTTPClientResponse {
        try await negotiate(request, timeout: timeout, body: body).response
    }

    /// Does what ``execute(_:timeout:body:)`` does, and says what the response is worth.
    ///
    /// Throws the same errors.
    public func negotiate(
        _ request: HTTPClientRequest,
        timeout: Duration = .seconds(30),
        body: (@Sendable () async throws -> HTTPClientRequest.Body)? = nil
    ) async throws -> NegotiatedResponse {
        let pending = PendingRequest(request, body: body.map(RequestBody.made) ?? RequestBody(request.body))
        return try await calls.run(within: timeout) {
            switch self.connections {
            case .own(let transport): try await self.run(pending, over: transport)
            case .given(let transport): try await self.run(pending, over: transport)
            }
        }
    }

    private func run<Transport: NegotiateTransport>(
        _ request: PendingRequest,
        over transport: Transport
    ) async throws -> NegotiatedResponse where Transport.Request == PendingRequest, Transport.Response == StampedResponse {
        let call = NegotiatingCall(
            credentialExtension: credentialExtension,
            settings: configuration.settings(unboundTLS: unboundTLS),
            transport: transport,
            memory: memory
        )
        let result = try await call.run(request)
        var response = result.response.response
        response.history = result.hops.map { hop in
            let answer = hop.response.response
            let head = HTTPResponseHead(version: answer.version, status: answer.status, headers: answer.headers)
            return HTTPClientRequestResponse(request: hop.request.head, responseHead: head)
        }
        return NegotiatedResponse(response: response, report: result.report)
    }

    /// Ends the requests in progress and closes every connection. Later requests throw `HTTPTransportError` with the code `shutDown`.
    ///
    /// Throws `HTTPTransportError` when a connection could not be closed in order; it is closed all the same. A second call does nothing.
    public func shutdown() async throws {
        calls.shutDown()
        if case .own(let transport) = connections { try await transport.clients.shutdown() }
    }

    /// Runs `body` with a client, and shuts the client down on every way out.
    ///
    /// Throws what `body` throws, or else what ``shutdown()`` throws.
    public static func withClient<Return>(
        extension credentialExtension: any CredentialExtension,
        configuration: Configuration = Configuration(),
        eventLoopGroup: any EventLoopGroup = HTTPClient.defaultEventLoopGroup,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (NegotiatingHTTPClient) async throws -> Return
    ) async throws -> Return {
        let client = NegotiatingHTTPClient(extension: credentialExtension, configuration: configuration, eventLoopGroup: eventLoopGroup)
        let result: Return
        do {
            result = try await body(client)
        } catch {
            // The body's error is the one that the caller needs.
            try? await client.shutdown()
            throw error
        }
        try await client.shutdown()
        return result
    }
}

extension NegotiatingHTTPClient {
    /// How requests are sent and challenges answered.
    public struct Configuration: Sendable {
        /// Whether a server must prove itself before its response is handed on. By default nil: the profile decides for each host, and says
        /// yes where it says nothing.
        public var mutualAuthentication: MutualAuthentication?
        /// How many requests with our `Authorization` field one exchange may send. Kerberos needs one; by default 4.
        public var maximumLegs: Int
        /// How many redirects are followed. By default 5; with 0 every 3xx is handed on.
        public var maximumRedirects: Int
        /// How many bytes of a request's own body that comes in several pieces are kept in memory, so that it can be sent again. By default
        /// 1 MiB.
        public var maximumReplayableBody: Int
        /// The principal that answers, when several are signed in. By default the extension chooses.
        public var principal: String?
        /// Whether the extension may ask the user. Off by default.
        public var isUserInterfaceEnabled: Bool
        /// How connections are made: `tlsConfiguration`, `timeout.connect`, `proxy`, `dnsOverride` and the like.
        ///
        /// By default a connection that is refused is an error at once (`connectionPool.retryConnectionEstablishment` is off). Redirects
        /// and decompression are always off here, and the hooks for debugging connections are taken. Not looked at with a client that was
        /// made elsewhere.
        public var connections: HTTPClient.Configuration

        /// Makes a configuration with the defaults.
        public init() {
            maximumLegs = 4
            maximumRedirects = 5
            maximumReplayableBody = 1 << 20
            isUserInterfaceEnabled = false
            connections = HTTPClient.Configuration()
            connections.connectionPool.retryConnectionEstablishment = false
        }
    }
}

extension NegotiatingHTTPClient.Configuration {
    func settings(unboundTLS: UnboundTLS) -> CallSettings {
        CallSettings(
            mutualAuthentication: mutualAuthentication,
            unboundTLS: unboundTLS,
            maximumLegs: maximumLegs,
            maximumRedirects: maximumRedirects,
            maximumReplayableBody: maximumReplayableBody,
            principal: principal,
            isUserInterfaceEnabled: isUserInterfaceEnabled
        )
    }
}

/// A response, and what it is worth.
public struct NegotiatedResponse: Sendable {
    /// The response.
    public let response: HTTPClientResponse
    /// Whether Negotiate was used for it, for whom, and with what result. It speaks of the last response when redirects were followed.
    public let report: NegotiationReport

    init(response: HTTPClientResponse, report: NegotiationReport) {
        self.response = response
        self.report = report
    }

    /// Whether Negotiate was used for it, and with what result.
    public var delivery: NegotiateExchange.Delivery { report.delivery }
}
