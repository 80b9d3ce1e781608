import NIOCore
import NIOPosix
import Synchronization

/// The network between the clients of a realm and its KDC: a proxy that loses, delays, spoils and refuses at a test's word.
///
/// A realm made with ``TestRealmOptions/faultProxy`` has one, ``TestRealm/network``, and its krb5.conf names no other way to the KDC. At
/// first everything passes. One number serves UDP and TCP, and stays the same whatever is refused meanwhile. It is safe to use from any
/// task.
public final class KDCNetwork: Sendable {
    /// How long a fault is in force.
    public struct Extent: Sendable, Hashable {
        /// How many requests; nil is all of them.
        let requests: Int?

        /// Until another one takes its place.
        public static let untilChanged = Extent(requests: nil)

        /// For so many requests on each transport; then everything passes again.
        public static func next(_ requests: Int) -> Extent { Extent(requests: requests) }
    }

    /// The realm, which the errors name that the proxy makes up.
    let realm: String
    let plan = Mutex(FaultPlan())
    /// The KDC's port, at the same address.
    let target = Mutex(0)
    let loop: any EventLoop
    let channels = OpenChannels()
    /// Messages that a fault holds back, by the number of their exchange.
    let delayed = Mutex<[Int: Scheduled<WireMessage>]>([:])
    /// How many datagrams wait for the KDC's reply, and for how long each may.
    let waiting = Mutex((datagrams: 0, life: Duration.seconds(30)))
    private let reserved: ReservedPort
    private let listener = Mutex<Listener>(Listener())

    private struct Listener {
        var channel: (any Channel)?
        /// The end of the last change; changes come one after the other.
        var change: EventLoopFuture<Void>?
    }

    private init(realm: String, address: String) throws {
        self.realm = realm
        loop = MultiThreadedEventLoopGroup.singleton.next()
        reserved = try ReservedPort(at: ListeningAddress(address))
    }

    /// The port, of UDP and of TCP, at which clients find the KDC.
    public var port: Int { reserved.number }
    /// The realm's address: ``TestRealmOptions/address``.
    public var address: String { reserved.address.text }

    /// How long a datagram waits for the KDC's reply, for which a socket is open; no client waits longer.
    package var datagramLife: Duration {
        get { waiting.withLock { $0.life } }
        set { waiting.withLock { $0.life = newValue } }
    }

    /// What has come by so far, in the order in which it arrived. A reply is noted before its first byte leaves.
    ///
    /// All of it is kept, so that what a test counts is never cut off: an exchange takes less than a hundred bytes, and goes with the
    /// realm.
    public var exchanges: [KDCExchange] { plan.withLock { $0.exchanges } }

    /// Waits until so many requests have arrived since the realm began, and returns all of them.
    ///
    /// - Throws: `CancellationError`, or ``KerberosTestingError`` with the code `scopeEnded` when the realm ends first.
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

    /// Begins a fault, in the place of the one before; `.pass` ends it.
    ///
    /// When this returns it is in force for every request that comes, and a port that is to be closed is closed. Requests that are on their
    /// way keep the fault that they met.
    /// - Parameters:
    ///   - fault: What to do.
    ///   - transports: To which requests; the others keep their own.
    ///   - extent: For how many of them.
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` for a closed port that is to count, which nothing reaches, or
    ///   `scopeEnded`.
    public func set(_ fault: NetworkFault, on transports: NetworkTransports = .both, for extent: Extent = .untilChanged) async throws {
        guard fault != .refuse || extent.requests == nil else {
            throw KerberosTestingError(.invalidArgument, "A closed port counts no requests; end .refuse by another set(_:on:for:).")
        }
        try plan.withLock { plan in
            guard !plan.hasEnded else { throw Self.scopeEnded }
            plan.set(fault, on: transports, remaining: extent.requests)
            if transports.contains(.udp) { try reserved.setRefusesDatagrams(plan.refuses(.udp)) }
        }
        try await changeListener()
    }

    /// Closes the ports of all other transports, and lets everything pass on these.
    ///
    /// - Throws: As ``set(_:on:for:)``.
    public func allowOnly(_ transports: NetworkTransports) async throws {
        try await set(.pass, on: transports)
        try await set(.refuse, on: NetworkTransports.both.subtracting(transports))
    }

    static var scopeEnded: KerberosTestingError {
        KerberosTestingError(.scopeEnded, "The realm has ended; use its network inside the closure that was given it.")
    }

    /// Listens for TCP or stops listening, as the plan says, after every change that began earlier.
    private func changeListener() async throws {
        try await listener.withLock { listener in
            let earlier = listener.change ?? loop.makeSucceededVoidFuture()
            // Submitted, so that it never runs in here.
            let change = loop.flatSubmit { earlier.recover { _ in }.flatMap { self.makeListenerFit() } }
            listener.change = change
            return change
        }.get()
    }

    private func makeListenerFit() -> EventLoopFuture<Void> {
        let (refuses, hasEnded) = plan.withLock { ($0.refuses(.tcp), $0.hasEnded) }
        switch (listener.withLock { $0.channel }, refuses || hasEnded) {
        case (let channel?, true):
            listener.withLock { $0.channel = nil }
            return channel.close()
        case (nil, false):
            return ServerBootstrap(group: loop)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelInitializer { channel in
                    self.channels.add(channel)
                    return channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHandler(ByteToMessageHandler(LengthPrefixDecoder()))
                        try pipeline.addHandler(StreamClientHandler(network: self))
                    }
                }
                .bind(host: address, port: port)
                .map { channel in self.listener.withLock { $0.channel = channel } }
        default: return loop.makeSucceededVoidFuture()
        }
    }

    private func listenForDatagrams() async throws {
        try reserved.setRefusesDatagrams(false)
        let channel = try await DatagramBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(DatagramClientHandler(network: self))
                }
            }
            .withBoundSocket(reserved.datagramDescriptor()).get()
        channels.add(channel)
    }

    /// Closes everything, and waits for it: nothing of the network answers afterwards.
    private func end() async {
        for wait in plan.withLock({ $0.end() }) { wait.resume() }
        try? await changeListener()
        for message in delayed.withLock({ Array($0.values) }) { message.cancel() }
        await channels.close()
    }

    /// Runs a closure with networks, one for each KDC, whose ports are open, and closes them on every way out.
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
    /// The address.
    public var description: String { "network of \(realm) at \(address):\(port)" }
}

/// A request that came to a ``KDCNetwork``, and what went back.
public struct KDCExchange: Sendable, Hashable {
    /// What a message is, by its first byte (RFC 4120 section 5.10).
    public struct Message: RawRepresentable, Sendable, Hashable {
        /// The first byte.
        public let rawValue: UInt8

        /// Creates a kind from the first byte of such a message.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// `AS-REQ`: a client asks for a ticket-granting ticket.
        public static let initialRequest = Message(rawValue: 0x6A)
        /// `AS-REP`.
        public static let initialReply = Message(rawValue: 0x6B)
        /// `TGS-REQ`: a client asks for a service ticket.
        public static let serviceRequest = Message(rawValue: 0x6C)
        /// `TGS-REP`.
        public static let serviceReply = Message(rawValue: 0x6D)
        /// `KRB-ERROR`: a refusal, or what the KDC wants to know first.
        public static let error = Message(rawValue: 0x7E)
    }

    /// By what it came: ``NetworkTransports/udp`` or ``NetworkTransports/tcp``.
    public let transport: NetworkTransports
    /// What the client sent; nil for no byte at all.
    public let request: Message?
    /// The bytes of the request, without the length that TCP puts in front.
    public let requestSize: Int
    /// What was done to it.
    public let fault: NetworkFault
    /// What the client was sent; nil for nothing yet, or nothing at all.
    public internal(set) var reply: Message?
    /// The bytes of the reply.
    public internal(set) var replySize = 0
}
