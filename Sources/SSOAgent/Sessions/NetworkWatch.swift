internal import Dispatch

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

#if os(Linux)
    /// Sees that the machine's network changes: the kernel's own messages (rtnetlink) of links, addresses and routes.
    package struct NetworkWatch: Sendable {
        /// Yields after a change. Several changes that nobody looked at are one.
        package let changes: AsyncStream<Void>

        /// Begins to watch, until the stream is dropped. Nil where the kernel gives no such socket.
        package init?() {
            // Protocol 0 is NETLINK_ROUTE. Not blocking: the source's handler reads until there is nothing more.
            let descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
            guard descriptor >= 0 else { return nil }
            var address = Address()
            let length = socklen_t(MemoryLayout<Address>.size)
            let status = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(descriptor, $0, length) }
            }
            guard status == 0 else {
                close(descriptor)
                return nil
            }
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            // Safe: libdispatch lets any thread cancel a source; nothing else is done with it once it is active.
            nonisolated(unsafe) let source = DispatchSource.makeReadSource(
                fileDescriptor: descriptor,
                queue: DispatchQueue(label: "ksso.network")
            )
            unsafe source.setEventHandler { if Self.hasChange(descriptor) { continuation.yield() } }
            unsafe source.setCancelHandler {
                close(descriptor)
                continuation.finish()
            }
            continuation.onTermination = { _ in unsafe source.cancel() }
            unsafe source.activate()
            changes = stream
        }

        /// `sockaddr_nl` of linux/netlink.h, which the module of the C library leaves out.
        private struct Address {
            var family = UInt16(AF_NETLINK)
            var padding: UInt16 = 0
            var port: UInt32 = 0
            /// RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_IFADDR, RTMGRP_IPV6_ROUTE of linux/rtnetlink.h.
            var groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400
        }

        /// Reads all that waits; whether something of it can make a KDC reachable, or not.
        private static func hasChange(_ descriptor: Int32) -> Bool {
            var buffer = [UInt8](repeating: 0, count: 32768)
            var hasChange = false
            while true {
                let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
                if count > 0 {
                    if RouteMessages(buffer[..<count]).contains(where: \.matters) { hasChange = true }
                } else if count < 0, errno == EINTR {
                    continue
                } else if count < 0, errno == ENOBUFS {
                    hasChange = true  // more than the socket holds: what was lost may have mattered
                } else {
                    return hasChange
                }
            }
        }
    }
#endif

/// The messages of one datagram from rtnetlink (linux/netlink.h, linux/rtnetlink.h), as far as their headers go.
struct RouteMessages: Sequence, IteratorProtocol {
    /// One message.
    struct Message: Hashable {
        /// `RTM_NEWLINK` and the like.
        let type: UInt16
        /// Who made a route: `rtm_protocol`; nil where it is no route.
        let origin: UInt8?

        /// Whether a KDC may be reachable now that was not, or the other way round.
        var matters: Bool {
            switch type {
            case 16, 17, 20, 21: true  // RTM_NEWLINK, RTM_DELLINK, RTM_NEWADDR, RTM_DELADDR
            // The kernel's own routes come with addresses, and those of router advertisements (9) are repeated every few seconds.
            case 24, 25: origin != 2 && origin != 9  // RTM_NEWROUTE, RTM_DELROUTE
            default: false
            }
        }
    }

    private var rest: ArraySlice<UInt8>

    init(_ datagram: ArraySlice<UInt8>) { rest = datagram }

    mutating func next() -> Message? {
        guard rest.count >= 16 else { return nil }
        let start = rest.startIndex
        func number(_ offset: Int, _ count: Int) -> Int {
            // The byte order is the machine's.
            let bytes = rest[(start + offset)..<(start + offset + count)]
            return (1.littleEndian == 1 ? Array(bytes.reversed()) : Array(bytes)).reduce(0) { $0 << 8 | Int($1) }
        }
        let length = number(0, 4)
        guard length >= 16, length <= rest.count else { return nil }
        let type = UInt16(number(4, 2))
        let isRoute = type == 24 || type == 25
        let message = Message(type: type, origin: isRoute && length >= 28 ? rest[start + 16 + 5] : nil)
        rest = rest.dropFirst((length + 3) & ~3)
        return message
    }
}
