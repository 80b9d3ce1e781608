public import Foundation
public import FoundationNetworking
public import HTTPNegotiate

/// URLSession that answers Negotiate challenges with the tickets of a `CredentialExtension`.
///
/// ```swift
/// let session = NegotiatingURLSession(extension: sso, unboundTLS: .allowed)
/// let (data, response) = try await session.data(for: URLRequest(url: page))
/// session.finishTasksAndInvalidate()
/// ```
///
/// It makes and owns a URLSession for each principal and server. A request begins without credentials, except to hosts that the profile
/// lets have a ticket unasked; a 401 with `WWW-Authenticate: Negotiate` is answered when the extension answers, and the server's final
/// token is verified before anything of the response is handed on. A connection that carried a ticket is never used for another principal,
/// another service, another delegation or a request without credentials. A 407 is never answered, nor is any other scheme than Negotiate.
///
/// Sessions that are no longer needed are closed with it. Safe to use from any task.
public final class NegotiatingURLSession: Sendable {
    /// How requests are sent and challenges answered.
    public let configuration: Configuration

    private let credentialExtension: any CredentialExtension
    private let unboundTLS: UnboundTLS
    private let store: SessionStore
    private let memory = OriginMemory()
    private let calls = RunningCalls(shutDownError: .shutDown)

    /// Makes a session. Nothing is connected before the first request.
    ///
    /// URLSession does not show a server's TLS certificate, so that no ticket can be bound to it (RFC 5929). A server that enforces channel
    /// bindings refuses such a ticket. For any other the binding's protection is lost: who can show a certificate that this machine trusts
    /// for the server's name can pass the ticket on to the real server and act as the user.
    ///
    /// - Parameters:
    ///   - credentialExtension: What holds the tickets.
    ///   - unboundTLS: What becomes of a ticket for an https server: sent all the same, or withheld and `channelBindingsUnavailable`
    ///     thrown. Plain http and the hosts of the profile's `NoChannelBindingHosts` are served either way.
    ///   - configuration: How requests are sent and challenges answered.
    public init(
        extension credentialExtension: any CredentialExtension,
        unboundTLS: UnboundTLS,
        configuration: Configuration = Configuration()
    ) {
        self.credentialExtension = credentialExtension
        self.unboundTLS = unboundTLS
        self.configuration = configuration.detached
        store = SessionStore(template: self.configuration.session)
    }

    deinit {
        // A URLSession with a delegate lasts until it is invalidated, says its documentation.
        store.close()
    }

    /// Sends a request, answers a challenge and follows redirects.
    ///
    /// Where `CredentialExtension.decision(for:)` says that a challenge would be answered, the request may have to be sent twice. A body
    /// that is a stream is therefore read into memory first, up to ``Configuration/maximumReplayableBody`` bytes. For any other host it is
    /// sent as it is, once, and a 307 or 308 that would need it again is handed on.
    ///
    /// A request that brings its own `Authorization` field is sent with it, and no challenge is answered for it. A name and a password in
    /// the URL are not sent.
    ///
    /// Throws `HTTPTransportError` for the transport and redirects; `AuthorizationError` for a URL that is none, a body that can't be
    /// replayed (before anything is sent), what the extension throws, a server that does not prove itself (`mutualAuthenticationFailed`,
    /// `invalidResponse`), a ticket that may not be sent (`channelBindingsUnavailable`) and the deadline (`timedOut`);
    /// `CancellationError` when the task is cancelled.
    ///
    /// - Parameter request: The request. Its URL is http or https.
    /// - Returns: The last response and its body.
    public func data(for request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        let answer = try await negotiate(request)
        return (answer.data, answer.response)
    }

    /// Gets what a URL names. Does and throws what ``data(for:)`` does.
    public func data(from url: URL) async throws -> (Data, HTTPURLResponse) {
        try await data(for: URLRequest(url: url))
    }

    /// Does what ``data(for:)`` does, and says what the response is worth. Throws the same errors.
    public func negotiate(_ request: URLRequest) async throws -> NegotiatedData {
        let (data, response, report) = try await run(request) { try await $0.data() }
        return NegotiatedData(data: data, response: response, report: report)
    }

    /// Sends a body with a request, again where a challenge wants it. Throws as ``data(for:)`` does.
    ///
    /// - Parameters:
    ///   - request: The request without a body; one that it has is not sent. Its method is not GET.
    ///   - bodyData: The body.
    /// - Returns: The last response and its body.
    public func upload(for request: URLRequest, from bodyData: Data) async throws -> (Data, HTTPURLResponse) {
        let (data, response, _) = try await run(request, body: .upload(bodyData)) { try await $0.data() }
        return (data, response)
    }

    /// Sends a file with a request. It is read each time that it is sent, and never held in memory. Throws as ``data(for:)`` does.
    ///
    /// - Parameters:
    ///   - request: The request without a body; one that it has is not sent. Its method is not GET.
    ///   - fileURL: The file. It must not change before the call ends.
    /// - Returns: The last response and its body.
    public func upload(for request: URLRequest, fromFile fileURL: URL) async throws -> (Data, HTTPURLResponse) {
        let (data, response, _) = try await run(request, body: .file(fileURL)) { try await $0.data() }
        return (data, response)
    }

    /// Sends a request and writes the last response's body to a file, piece by piece. Throws as ``data(for:)`` does.
    ///
    /// - Returns: A file in ``Configuration/downloadDirectory``, which only this user may read. It is the caller's: move or remove it.
    ///   Where an error is thrown there is none.
    public func download(for request: URLRequest) async throws -> (URL, HTTPURLResponse) {
        let (file, response, _) = try await run(request, files: CallFiles(in: configuration.downloadDirectory)) { try await $0.file() }
        return (file, response)
    }

    /// Writes what a URL names to a file. Does and throws what ``download(for:)`` does.
    public func download(from url: URL) async throws -> (URL, HTTPURLResponse) {
        try await download(for: URLRequest(url: url))
    }

    /// Takes no further request, and closes every connection when the calls in progress have ended. Later calls throw `HTTPTransportError`
    /// with the code `shutDown`.
    public func finishTasksAndInvalidate() {
        store.finish()
    }

    /// Ends the calls in progress and closes every connection. They and later calls throw `HTTPTransportError` with the code `shutDown`.
    public func invalidateAndCancel() {
        calls.shutDown()
        store.close()
    }

    /// A whole call: the exchange under the deadline, and then the body, which goes to files if there are any.
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
            settings: configuration.settings(unboundTLS: unboundTLS),
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
            // Whatever noticed the cancellation first, the caller sees the one error that stands for it.
            try Task.checkCancellation()
            throw error
        }
    }
}

extension NegotiatingURLSession {
    /// How requests are sent and challenges answered.
    public struct Configuration: Sendable {
        /// Whether a server must prove itself before its response is handed on. Nil, the default, leaves it to the profile, which says so
        /// unless it names the host in one of its lists.
        public var mutualAuthentication: MutualAuthentication?
        /// How many requests with our `Authorization` field one exchange may send. Kerberos needs one; by default 4.
        public var maximumLegs: Int
        /// How many redirects are followed. By default 5; with 0 every 3xx is handed on.
        public var maximumRedirects: Int
        /// How many bytes of a body that is a stream are kept in memory, so that it can be sent again. By default 1 MiB.
        public var maximumReplayableBody: Int
        /// The principal that answers, when several are signed in. By default the extension chooses.
        public var principal: String?
        /// Whether the extension may ask the user. Off by default.
        public var isUserInterfaceEnabled: Bool
        /// Time for everything up to the head of the last response: connections, tickets, legs, redirects, and sending bodies. By default
        /// 60 seconds; allow more for large uploads. A body that is received is not counted: `timeoutIntervalForRequest` of ``session``
        /// bounds its pauses.
        public var timeout: Duration
        /// Where downloads are written. By default the folder for temporary files; one on the disk where they are to stay makes moving them
        /// cheap.
        public var downloadDirectory: URL
        /// The template of the sessions: cookies, `timeoutIntervalForRequest`, `httpAdditionalHeaders` and the like. By default
        /// `URLSessionConfiguration.ephemeral`: cookies are kept in memory, for all requests of the session.
        ///
        /// A server may put a signed-in session into a cookie. It then goes along with requests of another principal and without a ticket,
        /// and outlives a sign-out; give each user a session of its own. `URLSessionConfiguration.default` shares cookies with the whole
        /// process and writes some of them to disk, readable by others.
        ///
        /// Caches and stored credentials are always off here, `httpMaximumConnectionsPerHost` counts for requests without tickets only, and
        /// an `Authorization` among the additional headers is taken as each request's own.
        public var session: URLSessionConfiguration

        /// Makes a configuration with the defaults.
        public init() {
            maximumLegs = 4
            maximumRedirects = 5
            maximumReplayableBody = 1 << 20
            isUserInterfaceEnabled = false
            timeout = .seconds(60)
            downloadDirectory = FileManager.default.temporaryDirectory
            session = .ephemeral
        }

        /// The same, without ties to a template that its maker may change.
        var detached: Configuration {
            var configuration = self
            configuration.session = session.duplicate
            return configuration
        }

        /// The template's fields. They go with the request, and not with the session, which would send them to any host.
        var additionalFields: [String: String] {
            var fields: [String: String] = [:]
            for (name, value) in session.httpAdditionalHeaders ?? [:] { fields["\(name)"] = "\(value)" }
            return fields
        }

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
}

extension URLSessionConfiguration {
    /// A copy.
    var duplicate: URLSessionConfiguration { copy() as? URLSessionConfiguration ?? self }
}

/// A response with its body, and what it is worth.
public struct NegotiatedData: Sendable {
    /// The body.
    public let data: Data
    /// The response.
    public let response: HTTPURLResponse
    /// Whether Negotiate was used for it, for whom, and with what result. It speaks of the last response when redirects were followed.
    public let report: NegotiationReport

    init(data: Data, response: HTTPURLResponse, report: NegotiationReport) {
        self.data = data
        self.response = response
        self.report = report
    }

    /// Whether Negotiate was used for it, and with what result.
    public var delivery: NegotiateExchange.Delivery { report.delivery }
}
