/// One call of a client: hop after hop, each with its own decision, exchange and security context.
package struct NegotiatingCall<Transport: NegotiateTransport>: Sendable {
    /// One response that was handed on or followed, and the request as the caller knows it, without a token.
    package struct Hop: Sendable {
        package let request: Transport.Request
        package let response: Transport.Response
    }

    /// What a call came to.
    package struct Result: Sendable {
        package let response: Transport.Response
        package let report: NegotiationReport
        /// Every hop, the last included.
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
        // The user decided about credentials, for the redirects too, where the field may have been taken away.
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
            guard settings.maximumRedirects > 0,
                let redirect = try Redirect(from: request, origin: origin, response: answer.response)
            else {
                return Result(response: answer.response, report: answer.report, hops: hops)
            }
            guard hops.count <= settings.maximumRedirects else {
                let message =
                    "\(origin) redirects again after \(hops.count - 1) redirects, and no more are followed. It is most likely a loop."
                throw HTTPTransportError(.tooManyRedirects, message)
            }
            await answer.response.drain()
            request = redirect.request
        }
    }
}

/// What a caller chose for all its requests.
package struct CallSettings: Sendable {
    package var mutualAuthentication: MutualAuthentication?
    package var unboundTLS: UnboundTLS
    package var maximumLegs: Int
    package var maximumRedirects: Int
    package var maximumReplayableBody: Int
    package var principal: String?
    package var isUserInterfaceEnabled: Bool

    package init(
        mutualAuthentication: MutualAuthentication?,
        unboundTLS: UnboundTLS,
        maximumLegs: Int,
        maximumRedirects: Int,
        maximumReplayableBody: Int,
        principal: String?,
        isUserInterfaceEnabled: Bool
    ) {
        self.mutualAuthentication = mutualAuthentication
        self.unboundTLS = unboundTLS
        self.maximumLegs = maximumLegs
        self.maximumRedirects = maximumRedirects
        self.maximumReplayableBody = maximumReplayableBody
        self.principal = principal
        self.isUserInterfaceEnabled = isUserInterfaceEnabled
    }
}

/// What becomes of a ticket for an https server when the client library does not show the server's certificate.
///
/// A server that enforces channel bindings refuses such a ticket; one that does not can't tell it from a ticket that a relay passes on.
public enum UnboundTLS: String, Sendable, Hashable {
    /// It is sent without channel bindings.
    case allowed
    /// Nothing is sent, and the error ``AuthorizationError/Code/channelBindingsUnavailable`` thrown; hosts of `NoChannelBindingHosts` and
    /// plain http excepted.
    case refused
}
