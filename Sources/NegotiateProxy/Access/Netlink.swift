#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// One request to the kernel, and its reply (netlink(7)).
enum Netlink {
    private static let addressFamily: Int32 = 16
    private static let error: UInt16 = 2
    private static let request: UInt16 = 1

    /// Sends a request with this body, and returns the reply with its header (`struct nlmsghdr`); nil if the kernel or a sandbox does not
    /// allow it. Waits for nothing: the kernel has replied before send(2) returns.
    static func reply(to body: [UInt8], type: UInt16, family: Int32) -> [UInt8]? {
        let descriptor = socket(addressFamily, Int32(SOCK_DGRAM.rawValue) | O_CLOEXEC | O_NONBLOCK, family)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let header = UInt32(16 + body.count).hostBytes + type.hostBytes + request.hostBytes + UInt32(1).hostBytes + UInt32(0).hostBytes
        let message = header + body
        let sent = unsafe message.withUnsafeBytes { unsafe send(descriptor, $0.baseAddress, $0.count, 0) }
        guard sent == message.count else { return nil }
        var reply = [UInt8](repeating: 0, count: 1024)
        let count = unsafe reply.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, $0.count, 0) }
        return count >= 20 ? Array(reply.prefix(count)) : nil
    }

    /// The type of a reply.
    static func type(of reply: [UInt8]) -> UInt16 { UInt16(littleEndian: UInt16(reply[4]) | UInt16(reply[5]) << 8) }

    /// The `errno` of a reply that is an error; nil if it is none.
    static func errorCode(of reply: [UInt8]) -> Int32? {
        // The kernel writes it negative. The smallest number, which it never writes, has no positive one.
        type(of: reply) == error ? 0 &- Int32(bitPattern: reply.hostInteger(at: 16)) : nil
    }
}

/// A request for the route to an address (rtnetlink(7)).
enum KernelRoute {
    private static let routeFamily: Int32 = 0
    private static let getRoute: UInt16 = 26
    private static let newRoute: UInt16 = 24
    private static let destination: UInt16 = 1
    private static let local: UInt8 = 2

    /// Whether the kernel delivers what is sent to an address on this machine (`RTN_LOCAL`); nil if it does not say.
    static func isLocal(_ address: [UInt8]) -> Bool? {
        // `struct rtmsg`, then one attribute.
        var body: [UInt8] = [UInt8(address.count == 4 ? AF_INET : AF_INET6), UInt8(address.count * 8)] + [UInt8](repeating: 0, count: 10)
        body += UInt16(4 + address.count).hostBytes + destination.hostBytes + address
        guard let reply = Netlink.reply(to: body, type: getRoute, family: routeFamily) else { return nil }
        guard Netlink.type(of: reply) == newRoute, reply.count >= 16 + 12 else { return nil }
        return reply[16 + 7] == local
    }
}

extension FixedWidthInteger {
    /// The bytes in the machine's order, as the kernel's structures have them.
    var hostBytes: [UInt8] { unsafe withUnsafeBytes(of: self) { unsafe Array($0) } }
}

extension [UInt8] {
    /// The 32-bit number at an offset, in the machine's order.
    func hostInteger(at offset: Int) -> UInt32 {
        let bytes = self[offset..<(offset + 4)]
        let number = bytes.reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return UInt32(littleEndian: number)
    }
}
