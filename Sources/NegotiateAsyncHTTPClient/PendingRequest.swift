import AsyncHTTPClient
import HTTPNegotiate
import HTTPTypes
import NIOHTTP1

/// A request that may have to be sent more than once.
struct PendingRequest: NegotiableRequest {
    /// Without a body.
    private(set) var head: HTTPClientRequest
    private(set) var body: RequestBody

    init(_ request: HTTPClientRequest, body: RequestBody) {
        head = request
        head.body = nil
        self.body = body
    }

    var url: String {
        get { head.url }
        set { head.url = newValue }
    }

    var methodName: String {
        get { head.method.rawValue }
        set { head.method = HTTPMethod(rawValue: newValue) }
    }

    var fields: HTTPFields { head.headers.fields }
    var isReplayable: Bool { body.isReplayable }
    /// Whether it does no harm if the server gets it twice (RFC 9110 section 9.2.2).
    var isRepeatable: Bool { isReplayable && ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(methodName) }

    func hasField(_ name: String) -> Bool { head.headers.contains(name: name) }
    mutating func removeField(_ name: String) { head.headers.remove(name: name) }
    mutating func replace(with fields: HTTPFields) { head.headers.replace(with: fields) }
    /// Asks for the connection to be closed after the response.
    mutating func closesConnection() { head.headers.replaceOrAdd(name: "Connection", value: "close") }
    mutating func removeBody() { body = .none }

    mutating func makeReplayable(upTo limit: Int, for origin: Origin) async throws {
        body = try await body.replayable(upTo: limit, for: origin)
    }

    /// The request for one sending.
    func sending() async throws -> HTTPClientRequest {
        // Draining a body ends without an error when the task is cancelled; nothing more is sent then.
        try Task.checkCancellation()
        var request = head
        request.body = try await body.sending()
        return request
    }
}
