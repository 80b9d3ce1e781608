public import AsyncHTTPClient
public import HTTPNegotiate

/// A response, and what it is worth.
public struct NegotiatedResponse: Sendable {
    /// The response.
    public let response: HTTPClientResponse
    /// Whether Negotiate was used for it, and with what result. It speaks of the last response when redirects were followed.
    public let delivery: NegotiateExchange.Delivery

    init(response: HTTPClientResponse, delivery: NegotiateExchange.Delivery) {
        self.response = response
        self.delivery = delivery
    }
}
