internal import NIOCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// One connection, to a client or to a server, as a sequence of HTTP/1.1 messages.
///
/// Runs on the connection's event loop, so that it costs no switches of threads.
actor MessageStream {
    /// A part of a body, without its framing.
    enum BodyPart: Sendable {
        case content(ByteBuffer)
        case end(trailers: HeadFields)
    }

    nonisolated let channel: any Channel
    /// Also used by ``TunnelRelay``, which takes the connection over.
    nonisolated let handler: NIOLoopBound<StreamHandler>
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe channel.eventLoop.executor.asUnownedSerialExecutor() }

    private let idleTime: TimeAmount
    private var decoder = BodyDecoder(.none)
    /// The number of bytes that were searched for the end of a head.
    private var searched = 0
    private var reads = 0
    /// Whether something other than an interim response was sent since the last body began to arrive.
    private var hasAnswered = false

    /// Creates a stream for a channel to which this function adds a handler. Call it on the event loop.
    init(_ channel: any Channel, idleTime: TimeAmount) throws {
        let handler = StreamHandler()
        try channel.pipeline.syncOperations.addHandler(handler)
        self.channel = channel
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        self.idleTime = idleTime
    }

    /// Whether the connection is open, and the peer has sent nothing that was not read.
    var isIdle: Bool {
        let handler = handler.value
        return channel.isActive && !handler.isInputClosed && handler.received.readableBytes == 0 && decoder.isComplete
    }

    /// Whether the last body was read to its end.
    var isBodyComplete: Bool { decoder.isComplete }

    /// Notices when the peer closes an idle connection.
    func watch() { handler.value.watch() }

    /// Waits until the peer, a process on this machine, has closed its socket. One that has only ended its sending direction still waits
    /// for an answer.
    func waitUntilGone() async {
        let handler = handler
        let eventLoop = channel.eventLoop
        await withTaskCancellationHandler {
            await withCheckedContinuation { observeEnd($0) }
        } onCancel: {
            eventLoop.execute { handler.value.cancelObserver() }
        }
        while !Task.isCancelled, channel.isActive, await PeerUser.userID(of: channel) != nil {
            // The kernel does not say when it closes the rest.
            try? await Task.sleep(for: .seconds(1))
        }
    }

    /// Isolated, as ``wait(_:within:_:)``.
    private func observeEnd(_ continuation: CheckedContinuation<Void, Never>) {
        guard !Task.isCancelled else { return continuation.resume() }
        handler.value.observeEnd(continuation)
    }

    /// Reads the next head with its empty line; nil if the peer sends no more.
    ///
    /// - Throws: `MessageProblem`, ``StreamClosed`` in the middle of a head, ``StreamTimeout``, or the error of the connection.
    func head(maximumSize: Int, within limit: TimeAmount? = nil) async throws -> [UInt8]? {
        let handler = handler.value
        while true {
            if searched == 0, handler.received.readableBytesView.starts(with: [0x0D, 0x0A]) {
                // RFC 9112 section 2.2: an empty line before a request is ignored.
                handler.received.moveReaderIndex(forwardBy: 2)
            }
            if let length = try HeadParser.length(of: handler.received.readableBytesView, searched: searched), length <= maximumSize {
                searched = 0
                return handler.received.readBytes(length: length)
            }
            searched = handler.received.readableBytes
            guard searched < maximumSize else {
                throw MessageProblem("its head has more than \(maximumSize) bytes", status: 431)
            }
            guard try await receive(within: limit ?? idleTime) else {
                guard handler.received.readableBytes > 0 else { return nil }
                throw StreamClosed()
            }
        }
    }

    /// Begins to read the body of the head that was read last.
    func beginBody(_ framing: BodyFraming) {
        decoder = BodyDecoder(framing)
        hasAnswered = false
    }

    /// Reads the next part of the body.
    ///
    /// - Throws: `MessageProblem`, ``StreamClosed`` before the end of the body, ``StreamTimeout``, or the error of the connection.
    func bodyPart() async throws -> BodyPart {
        while true {
            if let part = try receivedPart() { return part }
            if try await receive(within: idleTime) { continue }
            guard decoder.endsWithConnection else { throw StreamClosed() }
            decoder = BodyDecoder(.none)
        }
    }

    /// The next part of the body if it has been received; nil if it has not.
    func receivedPart() throws -> BodyPart? {
        let handler = handler.value
        while true {
            switch try decoder.next(handler.received.readableBytesView) {
            case .content(let count): return handler.received.readSlice(length: count).map(BodyPart.content)
            case .framing(let count): handler.received.moveReaderIndex(forwardBy: count)
            case .end(let trailers): return .end(trailers: trailers)
            case .incomplete: return nil
            }
        }
    }

    /// Sends bytes, and returns when the kernel has them. Cancellation closes the connection.
    func write(_ bytes: ByteBuffer) async throws {
        hasAnswered = true
        try await send(bytes)
    }

    func write(_ bytes: [UInt8]) async throws { try await write(channel.allocator.buffer(bytes: bytes)) }

    /// Sends an interim response (1xx) to a client, unless the final response has begun: behind that, it would be taken for the next one.
    func writeInterim(_ bytes: [UInt8]) async throws {
        guard !hasAnswered else { return }
        try await send(channel.allocator.buffer(bytes: bytes))
    }

    private func send(_ bytes: ByteBuffer) async throws {
        let timeout = channel.eventLoop.scheduleTask(in: idleTime) { [channel] in channel.close(promise: nil) }
        defer { timeout.cancel() }
        try Task.checkCancellation()
        do {
            try await withTaskCancellationHandler {
                try await channel.writeAndFlush(bytes).get()
            } onCancel: {
                channel.close(promise: nil)
            }
        } catch {
            // The channel's error would count as a failure of the peer.
            try Task.checkCancellation()
            throw error
        }
    }

    nonisolated func close() { channel.close(promise: nil) }

    /// Closes the connection so that the peer cannot take what it has received for everything.
    nonisolated func reset() {
        let channel = channel
        channel.eventLoop.execute { channel.reset() }
    }

    /// Closes a connection to which the peer may still be sending, so that the peer can read the last response (RFC 9112 section 9.6).
    ///
    /// - Parameter limit: How long the peer has for that.
    func closeAfterLastWrite(within limit: TimeAmount = .seconds(5)) async {
        let handler = handler.value
        let deadline = NIODeadline.now() + limit
        do {
            try await channel.close(mode: .output).get()
            while NIODeadline.now() < deadline {
                handler.received.clear()
                guard try await receive(within: min(.seconds(1), deadline - .now())) else { break }
            }
        } catch {
            // The connection closes in any case.
        }
        try? await channel.close().get()
    }

    private func receive(within limit: TimeAmount) async throws -> Bool {
        reads += 1
        let (number, handler) = (reads, handler)
        let eventLoop = channel.eventLoop
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { wait(number, within: limit, $0) }
        } onCancel: {
            eventLoop.execute { handler.value.cancel(number) }
        }
    }

    /// Isolated, so that it runs on the event loop: a closure that uses only constants of the actor does not.
    private func wait(_ number: Int, within limit: TimeAmount, _ continuation: CheckedContinuation<Bool, any Error>) {
        handler.value.wait(number, within: limit, continuation)
    }
}

extension Channel {
    /// Closes a TCP connection with a reset. Call it on the event loop.
    func reset() {
        _ = (self as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        close(promise: nil)
    }
}

extension MessageStream.BodyPart {
    /// The part in the chunked transfer coding.
    var chunk: ByteBuffer {
        switch self {
        case .content(let content):
            var bytes = ByteBuffer()
            bytes.writeString(String(content.readableBytes, radix: 16) + "\r\n")
            bytes.writeImmutableBuffer(content)
            bytes.writeString("\r\n")
            return bytes
        case .end(let trailers):
            var fields: [UInt8] = Array("0\r\n".utf8)
            HopByHop.forwarded(trailers: trailers).write(to: &fields)
            return ByteBuffer(bytes: fields + [0x0D, 0x0A])
        }
    }
}
