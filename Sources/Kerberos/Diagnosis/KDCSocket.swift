#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Exchanges one message with one address over UDP or TCP (RFC 4120 section 7.2), before a deadline.
///
/// Blocks the calling thread, at most until the deadline.
struct KDCSocket: ~Copyable {
    enum Failure: Error {
        case refused
        case noAnswer
        case other(Int32)

        init(_ number: Int32) { self = number == ECONNREFUSED || number == ECONNRESET ? .refused : .other(number) }
    }

    /// The longest TCP reply that is read: tickets are shorter, whatever length the reply declares.
    private static let longestReply = 1 << 20

    private let descriptor: Int32
    private let deadline: ContinuousClock.Instant

    /// Whether the socket is closed at the end.
    private var isOwned = true

    deinit { if isOwned { close(descriptor) } }

    static func exchange(
        _ message: [UInt8],
        with address: String,
        port: UInt16,
        by transport: KDCProbe.Transport,
        until deadline: ContinuousClock.Instant
    ) -> Result<[UInt8], Failure> {
        Result { () throws(Failure) in
            let socket = try connected(to: address, port: port, transport, until: deadline)
            switch transport {
            case .udp:
                try socket.send(message)
                return try socket.receiveDatagram(repeating: message)
            case .tcp:
                let count = UInt32(message.count).bigEndian
                try socket.send(withUnsafeBytes(of: count) { Array($0) } + message)
                let length = try socket.receive(4).reduce(0) { $0 << 8 | Int($1) }
                guard length <= longestReply else { return [] }
                return try socket.receive(length)
            }
        }
    }

    /// Connects by TCP, and hands the socket to the caller, who closes it.
    static func stream(to address: String, port: UInt16, until deadline: ContinuousClock.Instant) -> Result<Int32, Failure> {
        Result { () throws(Failure) in try connected(to: address, port: port, .tcp, until: deadline).release() }
    }

    private consuming func release() -> Int32 {
        var socket = self
        socket.isOwned = false
        return socket.descriptor
    }

    private static func connected(
        to address: String,
        port: UInt16,
        _ transport: KDCProbe.Transport,
        until deadline: ContinuousClock.Instant
    ) throws(Failure) -> KDCSocket {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        hints.ai_socktype = Int32((transport == .udp ? SOCK_DGRAM : SOCK_STREAM).rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(address, String(port), &hints, &list) == 0, let entry = list?.pointee else { throw .other(EADDRNOTAVAIL) }
        defer { freeaddrinfo(list) }
        let descriptor = socket(entry.ai_family, entry.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(errno) }
        let socket = KDCSocket(descriptor: descriptor, deadline: deadline)
        try socket.connect(to: entry)
        return socket
    }

    private init(descriptor: Int32, deadline: ContinuousClock.Instant) {
        self.descriptor = descriptor
        self.deadline = deadline
    }

    private func connect(to entry: addrinfo) throws(Failure) {
        guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0, fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else { throw Failure(errno) }
        if Self.connect(descriptor, entry.ai_addr, entry.ai_addrlen) == 0 { return }
        guard errno == EINPROGRESS else { throw Failure(errno) }
        try wait(for: Int32(POLLOUT))
        var number: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &size) == 0, number == 0 else { throw Failure(number) }
    }

    private func send(_ bytes: [UInt8]) throws(Failure) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Self.send(descriptor, UnsafeRawBufferPointer(rebasing: buffer[sent...]))
            }
            if count >= 0 {
                sent += count
            } else {
                guard errno == EAGAIN || errno == EINTR else { throw Failure(errno) }
                try wait(for: Int32(POLLOUT))
            }
        }
    }

    /// The system call, which the method of the same name hides.
    private static func connect(_ descriptor: Int32, _ name: UnsafePointer<sockaddr>?, _ size: socklen_t) -> Int32 {
        #if canImport(Glibc)
            Glibc.connect(descriptor, name, size)
        #else
            Darwin.connect(descriptor, name, size)
        #endif
    }

    private static func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Glibc)
            Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        #else
            Darwin.send(descriptor, bytes.baseAddress, bytes.count, 0)
        #endif
    }

    /// Receives a datagram. Because datagrams can be lost, sends the message again after half of the time.
    private func receiveDatagram(repeating message: [UInt8]) throws(Failure) -> [UInt8] {
        let half = ContinuousClock.now.duration(to: deadline) / 2
        do throws(Failure) {
            try wait(for: Int32(POLLIN), until: ContinuousClock.now.advanced(by: half))
        } catch {
            guard case .noAnswer = error else { throw error }
            try send(message)
        }
        return try receiveOnce(65536)
    }

    private func receive(_ count: Int) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let piece = try receiveOnce(count - bytes.count)
            guard !piece.isEmpty else { throw .refused }  // the peer closed the connection
            bytes += piece
        }
        return bytes
    }

    private func receiveOnce(_ limit: Int) throws(Failure) -> [UInt8] {
        while true {
            var buffer = [UInt8](repeating: 0, count: limit)
            let count = recv(descriptor, &buffer, limit, 0)
            if count >= 0 { return Array(buffer.prefix(count)) }
            guard errno == EAGAIN || errno == EINTR else { throw Failure(errno) }
            try wait(for: Int32(POLLIN))
        }
    }

    private func wait(for event: Int32, until moment: ContinuousClock.Instant? = nil) throws(Failure) {
        let moment = moment ?? deadline
        while true {
            let left = ContinuousClock.now.duration(to: moment)
            guard left > .zero else { throw .noAnswer }
            var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
            let milliseconds = Int32(clamping: left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1)
            let status = poll(&entry, 1, milliseconds)
            if status > 0 { return }
            guard status == 0 || errno == EINTR else { throw Failure(errno) }
        }
    }
}
