public import AsyncHTTPClient
import EventLoopTasks
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
/// The client creates and owns its connections. It first sends a request without credentials, except to hosts for which the profile permits
/// preemptive tickets. If a server answers 401 with `WWW-Authenticate: Negotiate` and the extension provides a token, the client repeats
/// the request with it, bound to the server's TLS certificate. It verifies the server's final token before it returns the response. A
/// connection that carried a ticket is never used for another principal, service or delegation setting, or for a request without
/// credentials. A 407 is never answered.
///
/// Call ``shutdown()`` when the client is no longer needed, or use ``withClient(extension:configuration:eventLoopGroup:isolation:_:)``. A
/// client that is released without it closes its connections in the background. Safe to use from any task.
public final class NegotiatingHTTPClient: Sendable {
    /// The configuration of requests and challenges.
    public let configuration: Configuration

    private let credentialExtension: any CredentialExtension
    private let connections: Connections
    private let unboundTLS: UnboundTLS
    private let memory = OriginMemory()
    private let calls = RunningCalls(shutDownError: .shutDown)
    private let eventLoops: EventLoopChoice

    private enum Connections {
        case own(OwnConnections)
        case external(ExternalClient)
    }

    /// Creates a client with its own connections. It connects only when the first request is sent.
    ///
    /// - Parameters:
    ///   - credentialExtension: The extension that provides the tickets.
    ///   - configuration: The configuration of requests and challenges.
    ///   - eventLoopGroup: The event loops of the connections and of the calls. The group is not shut down with the client. Shut it down
    ///     only after the client: a call on event loops that were shut down never returns.
    public init(
        extension credentialExtension: any CredentialExtension,
        configuration: Configuration = Configuration(),
        eventLoopGroup: any EventLoopGroup = HTTPClient.defaultEventLoopGroup
    ) {
        self.credentialExtension = credentialExtension
        self.configuration = configuration
        connections = .own(OwnConnections(clients: ClientStore(connections: configuration.connections, eventLoopGroup: eventLoopGroup)))
        eventLoops = EventLoopChoice(eventLoopGroup)
        unboundTLS = .refused
    }

    /// Creates a client that uses an external `HTTPClient`, for programs that must keep their own connections.
    ///
    /// Because the external client hides its connections and certificates, some features are missing. No ticket is bound to a TLS
    /// certificate; a server that requires several requests over one connection cannot be used; each request with a ticket closes its
    /// connection (over HTTP/2 it shares one with requests without a ticket). The external client must not follow redirects itself, and is
    /// not shut down with this one.
    ///
    /// - Parameters:
    ///   - credentialExtension: The extension that provides the tickets.
    ///   - client: The external client, created with `redirectConfiguration = .disallow`.
    ///   - unboundTLS: Whether a ticket may be sent to an https server although it cannot be bound to the certificate.
    ///   - configuration: The configuration of challenges. Of its `connections` only `httpVersion` is used. Set it to `.http1Only` if the
    ///     external client is configured so, which it does not expose; otherwise a request whose head is too large for HTTP/2 is refused.
    public init(
        extension credentialExtension: any CredentialExtension,
        client: HTTPClient,
        unboundTLS: UnboundTLS,
        configuration: Configuration = Configuration()
    ) {
        self.credentialExtension = credentialExtension
        self.configuration = configuration
        self.unboundTLS = unboundTLS
        connections = .external(ExternalClient(client: client, isHTTP1Only: configuration.connections.httpVersion == .http1Only))
        eventLoops = EventLoopChoice(client.eventLoopGroup)
    }

    /// Sends a request, answers a challenge and follows redirects; returns when the head of the last response has arrived.
    ///
    /// If `CredentialExtension.decision(for:)` would answer a challenge of the host, the request may have to be sent twice. Its `body` is
    /// therefore first read into memory: a body in a single piece whatever its size, one in several pieces up to
    /// `maximumReplayableBody` of ``Configuration/negotiation``. For a larger body pass `body`, which creates it each time. For any other
    /// host the request's own body is sent unchanged and once, and a 307 or 308 that would need it again is returned.
    ///
    /// A request with its own `Authorization` field is sent with it, and its challenges are not answered.
    ///
    /// Throws `HTTPTransportError` for the transport and redirects; `AuthorizationError` for an invalid URL, a body that cannot be replayed
    /// (before anything is sent), the extension's errors, a server that does not authenticate itself (`mutualAuthenticationFailed`,
    /// `invalidResponse`) and the timeout (`timedOut`); `CancellationError` if the task is canceled; and what `body`, or reading the
    /// request's own body, throws.
    ///
    /// - Parameters:
    ///   - request: The request, with an http or https URL.
    ///   - timeout: The time for everything up to the head of the last response: connections, tickets, legs and redirects.
    ///   - body: Creates the request's body each time that it is sent, in place of the request's own.
    /// - Returns: The response. Its body is streamed, and reading it may throw AsyncHTTPClient's errors. Its `history` contains each
    ///   response that was returned or followed, without the tokens that were sent.
    public func execute(
        _ request: HTTPClientRequest,
        timeout: Duration = .seconds(30),
        body: (@Sendable () async throws -> HTTPClientRequest.Body)? = nil
    ) async throws -> HTTPClientResponse {
        try await negotiate(request, timeout: timeout, body: body).response
    }

    /// Sends a request like ``execute(_:timeout:body:)``, and also reports the result of the authentication.
    ///
    /// Throws the same errors.
    public func negotiate(
        _ request: HTTPClientRequest,
        timeout: Duration = .seconds(30),
        body: (@Sendable () async throws -> HTTPClientRequest.Body)? = nil
    ) async throws -> NegotiatedResponse {
        let pending = PendingRequest(request, body: body.map(PendingBody.closure) ?? PendingBody(request.body))
        // AsyncHTTPClient prefers the connections of the event loop that it is called on.
        return try await eventLoops.withExecutor { executor in
            try await calls.run(within: timeout, on: executor) {
                switch self.connections {
                case .own(let transport): try await self.run(pending, over: transport)
                case .external(let transport): try await self.run(pending, over: transport)
                }
            }
        }
    }

    private func run<Transport: NegotiateTransport>(
        _ request: PendingRequest,
        over transport: Transport
    ) async throws -> NegotiatedResponse where Transport.Request == PendingRequest, Transport.Response == StampedResponse {
        let call = NegotiatingCall(
            credentialExtension: credentialExtension,
            settings: CallSettings(configuration.negotiation, unboundTLS: unboundTLS, observe: configuration.observe),
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

    /// Ends the requests in progress and closes all connections. Later requests throw `HTTPTransportError` with the code `shutDown`.
    ///
    /// Throws `HTTPTransportError` if a connection could not be closed cleanly; it is closed anyway. A second call has no effect.
    public func shutdown() async throws {
        calls.shutDown()
        if case .own(let transport) = connections { try await transport.clients.shutdown() }
    }

    /// Runs `body` with a client, and shuts the client down however `body` ends.
    ///
    /// Throws the error of `body`, or otherwise that of ``shutdown()``.
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
            // The caller needs the error of the body, not that of the shutdown.
            try? await client.shutdown()
            throw error
        }
        try await client.shutdown()
        return result
    }
}

extension NegotiatingHTTPClient {
    /// The configuration of requests and challenges.
    public struct Configuration: Sendable {
        /// How requests are sent and challenges are answered.
        public var negotiation = NegotiationOptions()
        /// The configuration of connections: `tlsConfiguration`, `timeout.connect`, `proxy`, `dnsOverride` and others.
        ///
        /// By default a refused connection fails immediately (`connectionPool.retryConnectionEstablishment` is off). Redirects and
        /// decompression are always off here, and the debug initializers of connections are replaced. Ignored for an external client,
        /// except for `httpVersion`.
        public var connections: HTTPClient.Configuration
        /// Receives what is sent and received, in order.
        package var observe: (@Sendable (CallEvent) -> Void)?

        /// Creates a configuration with the defaults.
        public init() {
            connections = HTTPClient.Configuration()
            connections.connectionPool.retryConnectionEstablishment = false
        }
    }
}

/// A response, with the result of its authentication.
public struct NegotiatedResponse: Sendable {
    /// The response.
    public let response: HTTPClientResponse
    /// Whether Negotiate was used, for which principal, and with what result. After redirects it describes the last response.
    public let report: NegotiationReport

    init(response: HTTPClientResponse, report: NegotiationReport) {
        self.response = response
        self.report = report
    }

    /// Whether Negotiate was used, and with what result.
    public var delivery: NegotiateExchange.Delivery { report.delivery }
}
