import AsyncHTTPClient
import HTTPNegotiate
import NIOCore

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
