public import Foundation
public import FoundationNetworking
public import HTTPNegotiate

/// A URLSession that answers Negotiate challenges with the tickets of a `CredentialExtension`.
///
/// ```swift
/// let session = NegotiatingURLSession(extension: sso, unboundTLS: .allowed)
/// let (data, response) = try await session.data(for: URLRequest(url: page))
/// session.finishTasksAndInvalidate()
/// ```
///
/// It creates and owns its URLSessions, and separates those of different principals and servers. It first sends a request without
/// credentials, except to hosts for which the profile permits preemptive tickets. If a server answers 401 with
/// `WWW-Authenticate: Negotiate` and the extension provides a token, it repeats the request with it, and verifies the server's final token
/// before it returns any part of the response. A connection that carried a ticket is never used for another principal, service or
/// delegation setting, or for a request without credentials. A 407 and schemes other than Negotiate are never answered.
///
/// Releasing the last reference closes its connections. Safe to use from any task.
public final class NegotiatingURLSession: Sendable {
    /// The configuration of requests and challenges.
    public let configuration: Configuration

    private let credentialExtension: any CredentialExtension
    private let unboundTLS: UnboundTLS
    private let store: SessionPool
    private let memory = OriginMemory()
    private let calls = RunningCalls(shutDownError: .shutDown)

    /// Creates a session. It connects only when the first request is sent.
    ///
    /// Because URLSession does not expose a server's TLS certificate, no ticket can be bound to it (RFC 5929). A server that enforces
    /// channel bindings refuses such a ticket. For other servers their protection is lost: an attacker with a certificate for the server's
    /// name that this machine trusts can relay the ticket to the real server and act as the user.
    ///
    /// - Parameters:
    ///   - credentialExtension: The extension that provides the tickets.
    ///   - unboundTLS: Whether a ticket is sent to an https server without a binding. If not, the call throws `channelBindingsUnavailable`.
    ///     Plain http and the hosts in the profile's `NoChannelBindingHosts` are not affected.
    ///   - configuration: The configuration of requests and challenges.
    public init(
        extension credentialExtension: any CredentialExtension,
        unboundTLS: UnboundTLS,
        configuration: Configuration = Configuration()
    ) {
        self.credentialExtension = credentialExtension
        self.unboundTLS = unboundTLS
        self.configuration = configuration.detached
        store = SessionPool(template: self.configuration.session)
    }

    deinit {
        // According to its documentation, a URLSession with a delegate stays alive until it is invalidated.
        store.close()
    }

    /// Sends a request, answers a challenge and follows redirects.
    ///
    /// If `CredentialExtension.decision(for:)` would answer a challenge of the host, the request may have to be sent twice. A body that is
    /// a stream is therefore first read into memory, up to `maximumReplayableBody` of ``Configuration/negotiation``. For any other host it
    /// is sent unchanged and once, and a 307 or 308 that would need it again is returned.
    ///
    /// A request with its own `Authorization` field is sent with it, and its challenges are not answered. A user name and a password in the
    /// URL are not sent.
    ///
    /// Throws `HTTPTransportError` for the transport and redirects; `AuthorizationError` for an invalid URL, a body that cannot be replayed
    /// (before anything is sent), the extension's errors, a server that does not authenticate itself (`mutualAuthenticationFailed`,
    /// `invalidResponse`), a ticket that must not be sent (`channelBindingsUnavailable`) and the timeout (`timedOut`); `CancellationError`
    /// if the task is canceled.
    ///
    /// - Parameter request: The request, with an http or https URL.
    /// - Returns: The last response and its body.
    public func data(for request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        let answer = try await negotiate(request)
        return (answer.data, answer.response)
    }

    /// Fetches a URL. Otherwise the same as ``data(for:)``.
    public func data(from url: URL) async throws -> (Data, HTTPURLResponse) {
        try await data(for: URLRequest(url: url))
    }

    /// Sends a request like ``data(for:)``, and also reports the result of the authentication. Throws the same errors.
    public func negotiate(_ request: URLRequest) async throws -> NegotiatedData {
        let (data, response, report) = try await run(request) { try await $0.data() }
        return NegotiatedData(data: data, response: response, report: report)
    }

    /// Sends a request with a body, which is sent again after a challenge. Throws the errors of ``data(for:)``.
    ///
    /// - Parameters:
    ///   - request: The request without a body; its own body is not sent. Its method must not be GET.
    ///   - bodyData: The body.
    /// - Returns: The last response and its body.
    public func upload(for request: URLRequest, from bodyData: Data) async throws -> (Data, HTTPURLResponse) {
        let (data, response, _) = try await run(request, body: .upload(bodyData)) { try await $0.data() }
        return (data, response)
    }

    /// Sends a request with a file, which is read each time that it is sent, and never held in memory. Throws the errors of ``data(for:)``.
    ///
    /// - Parameters:
    ///   - request: The request without a body; its own body is not sent. Its method must not be GET.
    ///   - fileURL: The file. It must not change before the call ends.
    /// - Returns: The last response and its body.
    public func upload(for request: URLRequest, fromFile fileURL: URL) async throws -> (Data, HTTPURLResponse) {
        let (data, response, _) = try await run(request, body: .file(fileURL)) { try await $0.data() }
        return (data, response)
    }

    /// Sends a request and writes the last response's body to a file as it arrives. Throws the errors of ``data(for:)``.
    ///
    /// - Returns: A file in ``Configuration/downloadDirectory`` that only this user can read. The caller must move or remove it. If the
    ///   call throws an error, no file is left.
    public func download(for request: URLRequest) async throws -> (URL, HTTPURLResponse) {
        let (file, response, _) = try await run(request, files: CallFiles(in: configuration.downloadDirectory)) { try await $0.file() }
        return (file, response)
    }

    /// Downloads a URL to a file. Otherwise the same as ``download(for:)``.
    public func download(from url: URL) async throws -> (URL, HTTPURLResponse) {
        try await download(for: URLRequest(url: url))
    }

    /// Accepts no further calls, and closes all connections when the calls in progress have ended. Later calls throw `HTTPTransportError`
    /// with the code `shutDown`.
    public func finishTasksAndInvalidate() {
        store.finish()
    }

    /// Ends the calls in progress and closes all connections. These and later calls throw `HTTPTransportError` with the code `shutDown`.
    public func invalidateAndCancel() {
        calls.shutDown()
        store.close()
    }

    /// Runs a whole call: the exchange within the timeout, and then the body, which is written to files if there are any.
    private func run<Body: Sendable>(
        _ request: URLRequest,
        body: SessionRequest.Body? = nil,
        files: CallFiles? = nil,
        reading: (SessionResponse) async throws -> Body
    ) async throws -> (Body, HTTPURLResponse, NegotiationReport) {
        try store.beginCall()
        defer { store.endCall() }
        let first = SessionRequest(request, body: body, fields: configuration.additionalFields)
        let call = NegotiatingCall(
            credentialExtension: credentialExtension,
            settings: CallSettings(configuration.negotiation, unboundTLS: unboundTLS),
            transport: SessionTransport(store: store, files: files),
            memory: memory
        )
        do {
            let result = try await calls.run(within: configuration.timeout) { try await call.run(first) }
            let body = try await reading(result.response)
            await files?.discard()
            return (body, result.response.head, result.report)
        } catch {
            await files?.discard()
            // The caller always gets a CancellationError for a canceled task, whichever error was thrown first.
            try Task.checkCancellation()
            throw error
        }
    }
}

extension NegotiatingURLSession {
    /// The configuration of requests and challenges.
    public struct Configuration: Sendable {
        /// How requests are sent and challenges are answered.
        public var negotiation = NegotiationOptions()
        /// The time for everything up to the head of the last response: connections, tickets, legs, redirects, and sending bodies. The
        /// default is 60 seconds; allow more for large uploads. Receiving a body is not included: `timeoutIntervalForRequest` of
        /// ``session`` limits its pauses.
        public var timeout: Duration
        /// The folder for downloads, by default the one for temporary files. Moving a download is cheap if the folder is on the same file
        /// system as the destination.
        public var downloadDirectory: URL
        /// The template of the sessions: cookies, `timeoutIntervalForRequest`, `httpAdditionalHeaders` and others. The default is
        /// `URLSessionConfiguration.ephemeral`, which stores cookies in memory, for all requests of the session.
        ///
        /// A server may store an authenticated session in a cookie. The cookie is then also sent with requests of another principal and
        /// without a ticket, and outlives a sign-out, so use a separate session for each user. `URLSessionConfiguration.default` shares
        /// cookies with the whole process and writes some of them to disk, where other users can read them.
        ///
        /// Caches and stored credentials are always off here, `httpMaximumConnectionsPerHost` applies only to requests without tickets, and
        /// an `Authorization` field among the additional headers counts as each request's own.
        public var session: URLSessionConfiguration

        /// Creates a configuration with the defaults.
        public init() {
            timeout = .seconds(60)
            downloadDirectory = FileManager.default.temporaryDirectory
            session = .ephemeral
        }

        /// A copy with its own template, which later changes of the original do not affect.
        var detached: Configuration {
            var configuration = self
            configuration.session = session.duplicate
            return configuration
        }

        /// The template's fields. They are added to the request instead of the session, which would send them to any host.
        var additionalFields: [String: String] {
            var fields: [String: String] = [:]
            for (name, value) in session.httpAdditionalHeaders ?? [:] { fields["\(name)"] = "\(value)" }
            return fields
        }
    }
}

extension URLSessionConfiguration {
    /// A copy of the configuration.
    var duplicate: URLSessionConfiguration { copy() as? URLSessionConfiguration ?? self }
}

/// A response with its body, and with the result of its authentication.
public struct NegotiatedData: Sendable {
    /// The body.
    public let data: Data
    /// The response.
    public let response: HTTPURLResponse
    /// Whether Negotiate was used, for which principal, and with what result. After redirects it describes the last response.
    public let report: NegotiationReport

    init(data: Data, response: HTTPURLResponse, report: NegotiationReport) {
        self.data = data
        self.response = response
        self.report = report
    }

    /// Whether Negotiate was used, and with what result.
    public var delivery: NegotiateExchange.Delivery { report.delivery }
}
