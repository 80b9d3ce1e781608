import HTTPNegotiate
import NegotiateAsyncHTTPClient
import NegotiateURLSession
import TestSupport

/// A client of any library, as the shared suites use it.
protocol Client: Sendable {
    /// Sends a request and reads the whole response.
    func send(_ request: ClientRequest) async throws -> Reply
    /// Cancels the requests in progress and closes the connections.
    func shutDown() async throws
}

/// A request for any library.
struct ClientRequest: Sendable {
    enum Body: Sendable {
        case text(String)
        /// Pieces that can be read once, without a declared length.
        case stream([String])
        case brokenStream
    }

    var method = "GET"
    var url: String
    var fields: [String: String] = [:]
    var body: Body?
}

extension ScriptedServer {
    func request(
        _ host: String = "a.localhost",
        _ path: String = "/",
        method: String = "GET",
        fields: [String: String] = [:],
        body: ClientRequest.Body? = nil
    ) -> ClientRequest {
        ClientRequest(method: method, url: url(host, path), fields: fields, body: body)
    }

    /// The `Authorization` fields of each connection, in order.
    var credentials: [[String?]] {
        Dictionary(grouping: requests, by: \.connection).values.map { $0.map { $0.field("Authorization") } }
    }
}

/// The response to a request, from any library.
struct Reply: Sendable {
    let status: Int
    let url: String?
    let fields: [(name: String, value: String)]
    let body: String
    let report: NegotiationReport

    var delivery: NegotiateExchange.Delivery { report.delivery }

    func field(_ name: String) -> String? { fields.first { $0.name.lowercased() == name.lowercased() }?.value }
}

/// The settings that every library has. Nil means the library's default.
struct ClientSettings: Sendable {
    var negotiation = NegotiationOptions()
    var timeout: Duration

    init(timeout: Duration = .seconds(30), _ change: (inout NegotiationOptions) -> Void = { _ in }) {
        self.timeout = timeout
        change(&negotiation)
    }

    func applied<Configuration: ClientConfiguration>(to defaults: Configuration) -> Configuration {
        var configuration = defaults
        configuration.negotiation = negotiation
        return configuration
    }
}

/// The part of a configuration that every library has.
protocol ClientConfiguration {
    var negotiation: NegotiationOptions { get set }
}

extension NegotiatingHTTPClient.Configuration: ClientConfiguration {}
extension NegotiatingURLSession.Configuration: ClientConfiguration {}
