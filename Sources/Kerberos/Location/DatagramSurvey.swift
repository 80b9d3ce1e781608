#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Sends one message to several addresses at once over UDP, and collects what they reply.
///
/// Blocks the calling thread, at most until the limit.
struct DatagramSurvey {
    /// A reply, and the time until it came.
    struct Reply: Sendable, Hashable {
        /// The index of the address.
        let index: Int
        let datagram: [UInt8]
        let latency: Duration
    }

    /// How much longer to wait for the other addresses after the first reply: at least this long, and twice as long as the first took.
    private static let shortestGrace = Duration.milliseconds(30)

    /// How long to wait for the first reply before the message is sent again.
    private static let repetition = Duration.milliseconds(500)

    private let message: [UInt8]
    private let start = ContinuousClock.now
    private let limit: Duration
    private var open: [(index: Int, socket: DatagramSocket)] = []
    private var replies: [Reply] = []

    /// The replies in the order in which they came, of those that are accepted.
    ///
    /// Waits for every address until one has replied, and for the others only a little longer. Because datagrams can be lost, the message
    /// is sent again every half second.
    static func replies(
        to message: [UInt8],
        from addresses: [String],
        port: UInt16,
        within limit: Duration,
        accepting isAccepted: ([UInt8]) -> Bool
    ) -> [Reply] {
        var survey = DatagramSurvey(message: message, limit: limit)
        for (index, address) in addresses.enumerated() {
            guard let socket = DatagramSocket(address: address, port: port), socket.send(message) else { continue }
            survey.open.append((index, socket))
        }
        survey.collect(isAccepted)
        return survey.replies
    }

    private init(message: [UInt8], limit: Duration) {
        self.message = message
        self.limit = limit
    }

    private mutating func collect(_ isAccepted: ([UInt8]) -> Bool) {
        var nextSend = Self.repetition
        while !open.isEmpty {
            let elapsed = start.duration(to: .now)
            guard elapsed < end else { return }
            if replies.isEmpty, elapsed >= nextSend {
                nextSend += Self.repetition
                for entry in open { _ = entry.socket.send(message) }
            }
            wait(atMost: min(end, replies.isEmpty ? nextSend : end) - elapsed)
            receive(isAccepted)
        }
    }

    /// Reads what has arrived. An address that has replied, or at which nothing listens, is done.
    private mutating func receive(_ isAccepted: ([UInt8]) -> Bool) {
        let waiting = open
        open = []
        for entry in waiting {
            switch entry.socket.receive() {
            case .nothing: open.append(entry)
            case .closed: break
            case .datagram(let datagram) where isAccepted(datagram):
                replies.append(Reply(index: entry.index, datagram: datagram, latency: start.duration(to: .now)))
            // Anyone can send one with a false sender.
            case .datagram: open.append(entry)
            }
        }
    }

    /// The time after the start at which to stop.
    private var end: Duration {
        guard let first = replies.first else { return limit }
        return min(limit, first.latency + max(Self.shortestGrace, first.latency * 2))
    }

    private func wait(atMost time: Duration) {
        var entries = open.map { pollfd(fd: $0.socket.descriptor, events: Int16(POLLIN), revents: 0) }
        let milliseconds = time.components.seconds * 1000 + time.components.attoseconds / 1_000_000_000_000_000 + 1
        _ = poll(&entries, nfds_t(entries.count), Int32(clamping: milliseconds))
    }
}

/// A UDP socket that is connected to one address, so that it receives only from there, and learns that nothing listens.
private final class DatagramSocket {
    enum Received {
        case nothing
        case datagram([UInt8])
        /// Nothing listens, or the network is unreachable.
        case closed
    }

    let descriptor: Int32

    /// Nil for a text that is no address, and without a route to it.
    init?(address: String, port: UInt16) {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(address, String(port), &hints, &list) == 0, let entry = list?.pointee else { return nil }
        defer { freeaddrinfo(list) }
        descriptor = socket(entry.ai_family, entry.ai_socktype | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0, connect(descriptor, entry.ai_addr, entry.ai_addrlen) == 0 else { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Whether the message was sent.
    func send(_ message: [UInt8]) -> Bool {
        let count = message.withUnsafeBytes { buffer in
            #if canImport(Glibc)
                Glibc.send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
            #else
                Darwin.send(descriptor, buffer.baseAddress, buffer.count, 0)
            #endif
        }
        return count == message.count
    }

    func receive() -> Received {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count >= 0 { return .datagram(Array(buffer.prefix(count))) }
        return errno == EAGAIN || errno == EINTR ? .nothing : .closed
    }
}
