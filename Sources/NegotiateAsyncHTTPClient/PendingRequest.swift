import AsyncHTTPClient
import HTTPNegotiate
import HTTPTypes
import NIOCore
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

/// The body of a request that may have to be sent more than once.
enum RequestBody: Sendable {
    case none
    /// The request's own. It may be a stream that can be read only once; AsyncHTTPClient does not tell.
    case unread(HTTPClientRequest.Body)
    /// Held in memory.
    case collected(ByteBuffer)
    /// Made anew each time.
    case made(@Sendable () async throws -> HTTPClientRequest.Body)

    init(_ body: HTTPClientRequest.Body?) {
        self = body.map(RequestBody.unread) ?? .none
    }

    /// Whether it may be sent a second time.
    var isReplayable: Bool {
        if case .unread = self { false } else { true }
    }

    /// The body for one sending.
    func sending() async throws -> HTTPClientRequest.Body? {
        switch self {
        case .none: nil
        case .unread(let body): body
        case .collected(let buffer): .bytes(buffer)
        case .made(let make): try await make()
        }
    }

    /// The same body, replayable.
    ///
    /// A body in one piece is in memory already, so that keeping it costs nothing; the limit is for what comes in several. Throws
    /// `bodyNotReplayable` beyond it, or what the body itself throws.
    func replayable(upTo limit: Int, for origin: Origin) async throws -> RequestBody {
        guard case .unread(let body) = self else { return self }
        var iterator = body.makeAsyncIterator()
        guard var collected = try await iterator.next() else { return .collected(ByteBuffer()) }
        while var piece = try await iterator.next() {
            guard collected.readableBytes + piece.readableBytes <= limit else {
                let message =
                    "\(origin) may ask for a ticket, and then the body must be sent again, but it is over \(limit) bytes. "
                    + "Give a closure that makes the body, or raise maximumReplayableBody."
                throw AuthorizationError(.bodyNotReplayable, message)
            }
            collected.writeBuffer(&piece)
        }
        return .collected(collected)
    }
}

extension HTTPHeaders {
    /// The same fields in the seam's type. A field that it can't hold is left out.
    var fields: HTTPFields {
        var fields = HTTPFields()
        for (name, value) in self {
            guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else { continue }
            fields.append(HTTPField(name: name, value: value))
        }
        return fields
    }

    /// Puts fields in the place of those with the same names.
    mutating func replace(with fields: HTTPFields) {
        for field in fields { remove(name: field.name.rawName) }
        for field in fields { add(name: field.name.rawName, value: field.value) }
    }
}
