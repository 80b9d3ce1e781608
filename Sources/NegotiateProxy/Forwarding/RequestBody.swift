internal import NIOCore
internal import Synchronization

/// The body of a client's request. It is streamed, and can be sent again if it is small, or if no byte of it has been sent.
final class RequestBody: Sendable {
    private struct State {
        /// What was read into memory, in order.
        var parts: [MessageStream.BodyPart] = []
        /// Whether ``parts`` is the whole body.
        var isComplete = false
        /// Whether a body that is not complete was taken to be sent, which is possible once.
        var isStarted = false
        /// Whether the client waits for 100 (Continue).
        var isAwaited: Bool
    }

    let framing: BodyFraming
    private let client: MessageStream
    private let state: Mutex<State>

    /// - Parameter isAwaited: Whether the client waits for 100 (Continue) before it sends the body.
    init(_ framing: BodyFraming, from client: MessageStream, isAwaited: Bool) {
        self.framing = framing
        self.client = client
        state = Mutex(State(isAwaited: isAwaited))
    }

    /// Whether the body can be sent from its beginning.
    var isReplayable: Bool { state.withLock { $0.isComplete || !$0.isStarted } }

    /// The whole body if it is in memory.
    var whole: [MessageStream.BodyPart]? { state.withLock { $0.isComplete ? $0.parts : nil } }

    /// Whether the client waits for 100 (Continue).
    var isAwaited: Bool { state.withLock { $0.isAwaited } }

    /// Tells the client to send the body, if it waits for that.
    func permit() async throws {
        let isAwaited = state.withLock { state in
            defer { state.isAwaited = false }
            return state.isAwaited
        }
        if isAwaited { try await client.writeInterim(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
    }

    /// Reads the body into memory if it is not longer than a limit. A longer one is streamed, after what was read of it.
    func buffer(upTo limit: Int) async throws {
        if case .length(let length) = framing, length > limit { return }
        guard state.withLock({ !$0.isComplete && !$0.isStarted && $0.parts.isEmpty }) else { return }
        try await permit()
        var size = 0
        while size <= limit {
            let part = try await client.bodyPart()
            let isEnd = if case .end = part { true } else { false }
            if case .content(let bytes) = part { size += bytes.readableBytes }
            state.withLock { state in
                state.parts.append(part)
                state.isComplete = isEnd
            }
            if isEnd { return }
        }
    }

    /// Takes the body to send it while it arrives.
    ///
    /// - Parameter mayStart: Whether it is still wanted.
    /// - Returns: Whether it is.
    /// - Throws: ``ProxyFailure`` if it was taken before.
    func claim(if mayStart: () -> Bool) throws -> Bool {
        try state.withLock { state in
            guard mayStart() else { return false }
            guard !state.isStarted else { throw Self.wasSent }
            state.isStarted = true
            return true
        }
    }

    static let wasSent = ProxyFailure(502, "The request's body was sent already, and cannot be sent again. Repeat the request.")

    /// Passes the parts of a claimed body to a closure, in the coding of ``framing``.
    func stream(_ send: (ByteBuffer) async throws -> Void) async throws {
        let parts = state.withLock { state in
            defer { state.parts = [] }
            return state.parts
        }
        for part in parts { try await send(coded(part)) }
        while true {
            let part = try await client.bodyPart()
            try await send(coded(part))
            if case .end = part { return }
        }
    }

    /// A part in the coding of ``framing``.
    func coded(_ part: MessageStream.BodyPart) -> ByteBuffer {
        if framing == .chunked { return part.chunk }
        guard case .content(let bytes) = part else { return ByteBuffer() }
        return bytes
    }
}
