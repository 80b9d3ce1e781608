internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import SystemSupport

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Finds the addresses of hosts. A name that no DNS server answers for delays no other name, and an answer serves for some time.
final class NameResolver: Sendable {
    /// A name that has no address, or for which no server answered.
    struct NotFound: Error {}

    typealias Lookup = @Sendable (String) -> [SocketAddress]

    private struct State {
        var known: [String: (addresses: [SocketAddress], end: ContinuousClock.Instant)] = [:]
        var running: [String: Task<[SocketAddress], Never>] = [:]
        var freeThreads = NameResolver.maximumThreads
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// The names that are looked up at the same time, each on a thread of its own.
    static let maximumThreads = 32
    /// How long a name may be queued: requests wait no longer to be connected.
    private static let longestWait = Duration.seconds(15)
    private static let maximumNames = 1024
    private static let lifetime = Duration.seconds(30)

    private let lookup: Lookup
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    /// - Parameters:
    ///   - lookup: A blocking call that returns the addresses of a name; none if there are none.
    ///   - now: A clock that does not jump.
    init(_ lookup: @escaping Lookup = NameResolver.systemAddresses, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        (self.lookup, self.now) = (lookup, now)
    }

    /// The addresses that were found a short time ago, with port 0; nil if there are none.
    func known(_ host: String) -> [SocketAddress]? {
        let present = now()
        return state.withLock { state in
            guard let entry = state.known[host], entry.end > present else { return nil }
            return entry.addresses
        }
    }

    /// Returns the addresses, with port 0.
    ///
    /// - Throws: ``NotFound``.
    func addresses(of host: String) async throws(NotFound) -> [SocketAddress] {
        if let addresses = known(host) { return addresses }
        let task = state.withLock { state in
            if let task = state.running[host] { return task }
            // Not canceled with one of the requests that wait for it.
            let task = Task { await self.look(host) }
            state.running[host] = task
            return task
        }
        let addresses = await task.value
        guard !addresses.isEmpty else { throw NotFound() }
        return addresses
    }

    private func look(_ host: String) async -> [SocketAddress] {
        let begun = now()
        await takeThread()
        // No request waits for a name that was queued for so long.
        let addresses = now() - begun < Self.longestWait ? await BlockingCall.run { [lookup] in lookup(host) } : []
        let end = now() + Self.lifetime
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.running[host] = nil
            if !addresses.isEmpty {
                if state.known.count >= Self.maximumNames { state.known = [:] }
                state.known[host] = (addresses, end)
            }
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.freeThreads += 1
            return nil
        }
        next?.resume()
        return addresses
    }

    private func takeThread() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.freeThreads == 0 else {
                    state.freeThreads -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    /// Asks the system, in the order of RFC 6724.
    static func systemAddresses(of host: String) -> [SocketAddress] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        #if canImport(Glibc)
            unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
            unsafe hints.ai_socktype = SOCK_STREAM
        #endif
        var first: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, nil, &hints, &first) == 0 else { return [] }
        defer { unsafe freeaddrinfo(first) }
        var addresses: [SocketAddress] = []
        var next = unsafe first
        while let entry = unsafe next {
            let address = unsafe entry.pointee.ai_addr
            switch unsafe entry.pointee.ai_family {
            case AF_INET:
                unsafe address?.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { unsafe addresses.append(SocketAddress($0.pointee)) }
            case AF_INET6:
                unsafe address?.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { unsafe addresses.append(SocketAddress($0.pointee)) }
            default: break
            }
            unsafe next = entry.pointee.ai_next
        }
        return addresses
    }
}

/// Answers SwiftNIO's queries for one connection, whose attempts SwiftNIO makes in parallel (RFC 8305).
struct DialResolver: Resolver, Sendable {
    let names: NameResolver
    let eventLoop: any EventLoop

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { query(host, port, .inet) }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { query(host, port, .inet6) }

    func cancelQueries() {}

    private func query(_ host: String, _ port: Int, _ family: NIOBSDSocket.ProtocolFamily) -> EventLoopFuture<[SocketAddress]> {
        let selection: @Sendable ([SocketAddress]) -> [SocketAddress] = { all in
            all.filter { $0.protocol == family }.map { address in
                var address = address
                address.port = port
                return address
            }
        }
        if let known = names.known(host) { return eventLoop.makeSucceededFuture(selection(known)) }
        let names = names
        return eventLoop.makeFutureWithTask { selection(try await names.addresses(of: host)) }
    }
}
