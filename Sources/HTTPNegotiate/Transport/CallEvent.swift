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
