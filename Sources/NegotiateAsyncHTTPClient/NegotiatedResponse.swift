public import AsyncHTTPClient
public import HTTPNegotiate

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
