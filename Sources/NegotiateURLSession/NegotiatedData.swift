public import FoundationNetworking
public import HTTPNegotiate

public import struct Foundation.Data

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
