import NIOCore
import NIOPosix
import Synchronization

/// A proxy between the clients of a realm and its KDC, with which a test loses, delays, corrupts and refuses messages.
///
/// A realm created with ``TestRealmOptions/faultProxy`` has one, ``TestRealm/network``, and its krb5.conf contains no direct way to the
/// KDC. Initially every message passes. UDP and TCP use the same port number, which stays reserved while the port is closed. Safe to use
/// from any task.
public final class KDCNetwork: Sendable {
    /// How long a fault is active.
    public struct Extent: Sendable, Hashable {
        /// The number of requests; nil for all.
        let requests: Int?

        /// The fault is active until another one replaces it.
        public static let untilChanged = Extent(requests: nil)

        /// The fault is active for this many requests on each transport. After that all messages pass again.
        public static func next(_ requests: Int) -> Extent { Extent(requests: requests) }
    }

    /// The realm of the errors that the proxy generates.
    let realm: String
    let plan = Mutex(FaultPlan())
    /// The KDC's port, at the same address.
    let target = Mutex(0)
    let loop: any EventLoop
    let channels = OpenChannels()
    let pending = Mutex(PendingMessages())
    private let proxyPort: ProxyPort

    private init(realm: String, address: String) throws {
        self.realm = realm
        loop = MultiThreadedEventLoopGroup.singleton.next()
        proxyPort = try ProxyPort(at: ListeningAddress(address), loop)
    }

    /// The UDP and TCP port at which clients reach the KDC.
    public var port: Int { proxyPort.reserved.number }
    /// The realm's address: ``TestRealmOptions/address``.
    public var address: String { proxyPort.reserved.address.text }

    /// How long a datagram waits for the KDC's reply, with a socket open for it; longer than any client waits.
    package var datagramLife: Duration {
        get { pending.withLock { $0.datagramLife } }
        set { pending.withLock { $0.datagramLife = newValue } }
    }

    /// All requests so far in the order of their arrival. A reply is recorded before its first byte is sent.
    ///
    /// All of them are kept until the realm ends, so that a test can count them; each takes less than a hundred bytes.
    public var exchanges: [KDCExchange] { plan.withLock { $0.exchanges } }

    /// Waits until this many requests have arrived since the realm started, and returns all of them.
    ///
    /// - Throws: `CancellationError`, or ``KerberosTestingError`` with the code `scopeEnded` if the realm ends first.
    public func exchanges(count: Int) async throws -> [KDCExchange] {
        let number = plan.withLock { $0.newWaiter() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                plan.withLock { $0.wait(for: count, number: number, continuation) }?.resume()
            }
        } onCancel: {
            plan.withLock { $0.stopWaiting(number) }?.resume()
        }
    }

    /// Activates a fault in place of the previous one; `.pass` ends it.
    ///
    /// When this returns, the fault applies to every new request, and a port to be closed is closed. Requests that have already arrived
    /// keep the fault that was active then.
    /// - Parameters:
    ///   - fault: The fault.
    ///   - transports: The transports that it applies to; the others keep theirs.
    ///   - extent: The number of requests that it applies to.
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` for `.refuse` with a number of requests, because a closed port
    ///   receives none, or `scopeEnded` after the realm has ended.
    public func set(_ fault: NetworkFault, on transports: NetworkTransports = .both, for extent: Extent = .untilChanged) async throws {
        guard fault != .refuse || extent.requests == nil else {
            throw KerberosTestingError(.invalidArgument, "A closed port counts no requests; end .refuse with another set(_:on:for:).")
        }
        try plan.withLock { plan in
            guard !plan.hasEnded else { throw Self.scopeEnded }
            plan.set(fault, on: transports, remaining: extent.requests)
            if transports.contains(.udp) { try proxyPort.reserved.setRefusesDatagrams(plan.refuses(.udp)) }
        }
        try await changeListener()
    }

    /// Lets all messages pass on these transports, and closes the ports of the others.
    ///
    /// - Throws: The errors of ``set(_:on:for:)``.
    public func allowOnly(_ transports: NetworkTransports) async throws {
        try await set(.pass, on: transports)
        try await set(.refuse, on: NetworkTransports.both.subtracting(transports))
    }

    static var scopeEnded: KerberosTestingError {
        KerberosTestingError(.scopeEnded, "The realm has ended; use its network only inside the closure that receives it.")
    }

    /// Starts or stops listening for TCP, according to the plan, after all earlier changes.
    private func changeListener() async throws {
        try await proxyPort.changeListener {
            self.plan.withLock { !$0.refuses(.tcp) && !$0.hasEnded }
        } accept: { channel in
            self.channels.add(channel)
            return channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(ByteToMessageHandler(LengthPrefixDecoder()))
                try pipeline.addHandler(StreamClientHandler(network: self))
            }
        }
    }

    private func listenForDatagrams() async throws {
        try proxyPort.reserved.setRefusesDatagrams(false)
        let channel = try await DatagramBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(DatagramClientHandler(network: self))
                }
            }
            .withBoundSocket(proxyPort.reserved.datagramDescriptor()).get()
        channels.add(channel)
    }

    /// Closes all channels and waits until they are closed, so that the network does not answer afterwards.
    private func end() async {
        for wait in plan.withLock({ $0.end() }) { wait.resume() }
        try? await changeListener()
        for message in pending.withLock({ Array($0.delayed.values) }) { message.cancel() }
        await channels.close()
    }

    /// Runs a closure with one open network for each KDC, and closes them however the closure ends.
    nonisolated(nonsending) static func withNetworks<R>(
        of realm: String,
        at address: String,
        count: Int,
        _ body: nonisolated(nonsending) ([KDCNetwork]) async throws -> R
    ) async throws -> R {
        var networks: [KDCNetwork] = []
        let result: Result<R, any Error>
        do {
            for _ in 0..<count {
                let network = try KDCNetwork(realm: realm, address: address)
                networks.append(network)
                try await network.listenForDatagrams()
                try await network.changeListener()
            }
            result = .success(try await body(networks))
        } catch {
            result = .failure(error)
        }
        for network in networks { await network.end() }
        return try result.get()
    }
}

extension KDCNetwork: CustomStringConvertible {
    /// The realm, the address and the port.
    public var description: String { "network of \(realm) at \(address):\(port)" }
}

/// The messages that a ``KDCNetwork`` has not passed on yet.
struct PendingMessages {
    /// The messages that a fault is delaying, by the number of their exchange.
    var delayed: [Int: Scheduled<WireMessage>] = [:]
    /// The number of datagrams that wait for the KDC's reply.
    var datagrams = 0
    /// How long a datagram waits for the KDC's reply.
    var datagramLife = Duration.seconds(30)
}

/// A request that arrived at a ``KDCNetwork``, and its reply.
public struct KDCExchange: Sendable, Hashable {
    /// The type of a message, by its first byte (RFC 4120 section 5.10).
    public struct Message: RawRepresentable, Sendable, Hashable {
        /// The first byte.
        public let rawValue: UInt8

        /// Creates a type from the first byte of a message.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// `AS-REQ`: a request for an initial ticket, usually a ticket-granting ticket.
        public static let initialRequest = Message(rawValue: 0x6A)
        /// `AS-REP`.
        public static let initialReply = Message(rawValue: 0x6B)
        /// `TGS-REQ`: a request for a service ticket.
        public static let serviceRequest = Message(rawValue: 0x6C)
        /// `TGS-REP`.
        public static let serviceReply = Message(rawValue: 0x6D)
        /// `KRB-ERROR`: a refusal, or a request for pre-authentication.
        public static let error = Message(rawValue: 0x7E)
    }

    /// The transport: ``NetworkTransports/udp`` or ``NetworkTransports/tcp``.
    public let transport: NetworkTransports
    /// The type of the request; nil if it was empty.
    public let request: Message?
    /// The length of the request in bytes, without the length prefix of TCP.
    public let requestSize: Int
    /// The fault that was applied.
    public let fault: NetworkFault
    /// The type of the reply sent to the client; nil if there is none, or none yet.
    public internal(set) var reply: Message?
    /// The length of the reply in bytes.
    public internal(set) var replySize = 0
}
