public import FoundationNetworking
public import HTTPNegotiate

public import struct Foundation.Data
public import struct Foundation.URL

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
