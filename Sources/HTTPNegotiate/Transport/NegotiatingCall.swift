internal import SignOnPolicy

/// One call of a client: a series of hops, each with its own decision, exchange and security context.
package struct NegotiatingCall<Transport: NegotiateTransport>: Sendable {
    /// A response that was delivered or followed, and its request without a token.
    package struct Hop: Sendable {
        package let request: Transport.Request
        package let response: Transport.Response
    }

    /// The result of a call.
    package struct Result: Sendable {
        package let response: Transport.Response
        package let report: NegotiationReport
        /// All hops, including the last.
        package let hops: [Hop]
    }

    let credentialExtension: any CredentialExtension
    let settings: CallSettings
    let transport: Transport
    let memory: OriginMemory

    package init(
        credentialExtension: any CredentialExtension,
        settings: CallSettings,
        transport: Transport,
        memory: OriginMemory
    ) {
        self.credentialExtension = credentialExtension
        self.settings = settings
        self.transport = transport
        self.memory = memory
    }

    /// Sends a request, answers challenges and follows redirects.
    ///
    /// Throws `AuthorizationError`, ``HTTPTransportError`` for redirects, and what the transport throws.
    package func run(_ first: Transport.Request) async throws -> Result {
        // The user's own credentials apply to the redirects too, even if the field has been removed for another origin.
        let hasOwnCredentials = first.hasField("Authorization")
        var request = first
        var hops: [Hop] = []
        while true {
            let origin = try Origin(url: request.url)
            let answer: Answer
            if hasOwnCredentials {
                let response = try await repeating(request, to: origin, transport.sendWithOwnCredentials)
                answer = Answer(response: response, report: NegotiationReport(delivery: .unauthenticated))
            } else {
                answer = try await hop(&request, to: origin)
            }
            hops.append(Hop(request: request, response: answer.response))
            guard settings.options.maximumRedirects > 0,
                let redirect = try Redirect(from: request, origin: origin, response: answer.response)
            else {
                return Result(response: answer.response, report: answer.report, hops: hops)
            }
            guard hops.count <= settings.options.maximumRedirects else {
                let limit = hops.count == 2 ? "1 redirect" : "\(hops.count - 1) redirects"
                let message = "\(origin) redirects again after \(limit), which is the limit. The redirects probably form a loop."
                throw HTTPTransportError(.tooManyRedirects, message)
            }
            await answer.response.drain()
            request = redirect.request
        }
    }
}

/// What to do with a ticket for an https server if the client library does not provide the server's certificate.
///
/// A server that requires channel bindings rejects such a ticket; another server cannot distinguish it from a relayed one.
public enum UnboundTLS: String, Sendable, Hashable {
    /// Send it without channel bindings.
    case allowed
    /// Send nothing and throw `AuthorizationError.Code.channelBindingsUnavailable`, except for hosts in `NoChannelBindingHosts` and for
    /// plain http.
    case refused
}

/// A request or a response of a call, for a log. It contains no token.
package enum CallEvent: Sendable, Hashable {
    /// A request is sent.
    ///
    /// - Parameters:
    ///   - url: The full URL.
    ///   - token: The identity of the token that the request carries; nil if it carries none.
    case request(method: String, url: String, token: AuthorizationIdentity?)
    /// The head of the response has arrived.
    case response(status: Int)
}

extension NegotiatingCall {
    /// Sends a request and reports it and its response to the observer.
    func observing(
        _ request: Transport.Request,
        token: AuthorizationIdentity? = nil,
        _ send: (Transport.Request) async throws -> Transport.Response
    ) async throws -> Transport.Response {
        settings.observe?(.request(method: request.methodName, url: request.url, token: token))
        let response = try await send(request)
        settings.observe?(.response(status: response.statusCode))
        return response
    }
}
