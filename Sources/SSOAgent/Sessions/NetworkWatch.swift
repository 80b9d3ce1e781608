internal import Dispatch

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

#if os(Linux)
    /// Detects changes of the machine's network by the kernel's rtnetlink messages about links, addresses and routes.
    package struct NetworkWatch: Sendable {
        /// Yields after a change. Changes between two reads are combined into one.
        package let changes: AsyncStream<Void>

        /// Starts to watch, until the stream is dropped. Nil if the kernel provides no such socket.
        package init?() {
            // Protocol 0 is NETLINK_ROUTE. The socket is non-blocking, because the handler reads until no message is left.
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
            // Safe: libdispatch lets any thread cancel a source, and nothing else is done with an active one.
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

        /// `sockaddr_nl` of linux/netlink.h, which the C library's module does not export.
        private struct Address {
            var family = UInt16(AF_NETLINK)
            var padding: UInt16 = 0
            var port: UInt32 = 0
            /// RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_IFADDR, RTMGRP_IPV6_ROUTE of linux/rtnetlink.h.
            var groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400
        }

        /// Reads all pending messages, and returns whether one of them can affect the reachability of a KDC.
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
                    hasChange = true  // the socket's buffer overflowed, and a lost message may have mattered
                } else {
                    return hasChange
                }
            }
        }
    }
#endif
