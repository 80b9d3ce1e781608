import AsyncHTTPClient
import HTTPNegotiate
import HTTPTypes
import NIOCore
import NIOHTTP1

/// A request that may have to be sent more than once.
struct PendingRequest: NegotiableRequest {
    /// The request without its body.
    private(set) var head: HTTPClientRequest
    private(set) var body: PendingBody

    init(_ request: HTTPClientRequest, body: PendingBody) {
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
    /// Whether the server may receive the request twice without harm (RFC 9110 section 9.2.2).
    var isRepeatable: Bool { isReplayable && ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(methodName) }

    func hasField(_ name: String) -> Bool { head.headers.contains(name: name) }
    mutating func removeField(_ name: String) { head.headers.remove(name: name) }
    mutating func replace(with fields: HTTPFields) { head.headers.replace(with: fields) }
    /// Requests that the connection is closed after the response.
    mutating func closesConnection() { head.headers.replaceOrAdd(name: "Connection", value: "close") }
    mutating func removeBody() { body = .none }

    mutating func makeReplayable(upTo limit: Int, for origin: Origin) async throws {
        body = try await body.replayable(upTo: limit, for: origin)
    }

    /// Returns the request for one attempt.
    func sending() async throws -> HTTPClientRequest {
        // Draining a body ends without an error when the task is canceled; nothing more may be sent then.
        try Task.checkCancellation()
        var request = head
        request.body = try await body.sending()
        return request
    }
}

/// The body of a request that may have to be sent more than once.
enum PendingBody: Sendable {
    case none
    /// The request's own body. It may be a stream that can be read only once, which AsyncHTTPClient does not expose.
    case unread(HTTPClientRequest.Body)
    /// A body held in memory.
    case collected(ByteBuffer)
    /// A closure that creates the body each time.
    case closure(@Sendable () async throws -> HTTPClientRequest.Body)

    init(_ body: HTTPClientRequest.Body?) {
        self = body.map(PendingBody.unread) ?? .none
    }

    /// Whether the body can be sent a second time.
    var isReplayable: Bool {
        if case .unread = self { false } else { true }
    }

    /// Returns the body for one attempt.
    func sending() async throws -> HTTPClientRequest.Body? {
        switch self {
        case .none: nil
        case .unread(let body): body
        case .collected(let buffer): .bytes(buffer)
        // The closure may block, as reading a file does, which must not stop an event loop.
        case .closure(let make): try await withTaskExecutorPreference(globalConcurrentExecutor) { try await make() }
        }
    }

    /// Returns a replayable copy of the body.
    ///
    /// A body in one piece is already in memory, so that holding it costs nothing; the limit applies to one in several pieces. Throws
    /// `bodyNotReplayable` beyond it, or the body's own error.
    func replayable(upTo limit: Int, for origin: Origin) async throws -> PendingBody {
        guard case .unread(let body) = self else { return self }
        // The body may block, as a file does, which must not stop an event loop.
        return try await withTaskExecutorPreference(globalConcurrentExecutor) {
            .collected(try await Self.collect(body, upTo: limit, for: origin))
        }
    }

    private static func collect(_ body: HTTPClientRequest.Body, upTo limit: Int, for origin: Origin) async throws -> ByteBuffer {
        var iterator = body.makeAsyncIterator()
        guard var collected = try await iterator.next() else { return ByteBuffer() }
        while var piece = try await iterator.next() {
            guard collected.readableBytes + piece.readableBytes <= limit else {
                let message =
                    "\(origin) may ask for a ticket, which requires sending the body again, but the body is larger than \(limit) bytes. "
                    + "Pass a closure that creates the body, or raise maximumReplayableBody."
                throw AuthorizationError(.bodyNotReplayable, message)
            }
            collected.writeBuffer(&piece)
        }
        return collected
    }
}

extension HTTPHeaders {
    /// The fields as `HTTPFields`, without those that this type cannot represent.
    var fields: HTTPFields {
        var fields = HTTPFields()
        for (name, value) in self {
            guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else { continue }
            fields.append(HTTPField(name: name, value: value))
        }
        return fields
    }

    /// Replaces the fields with the same names.
    mutating func replace(with fields: HTTPFields) {
        for field in fields { remove(name: field.name.rawName) }
        for field in fields { add(name: field.name.rawName, value: field.value) }
    }
}
