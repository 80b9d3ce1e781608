#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The machine's own IPv4 address, for the function myIpAddress of PAC files.
enum OwnAddress {
    /// Addresses of the network for documentation (RFC 5737), which follows the default route, and of the private networks (RFC 1918).
    private static let destinations: [(UInt8, UInt8, UInt8, UInt8)] = [(192, 0, 2, 1), (10, 0, 0, 1), (172, 16, 0, 1), (192, 168, 0, 1)]

    /// The source address of packets to other networks, or `127.0.0.1` without a network. No packet is sent: connecting a datagram
    /// socket only selects the route.
    static func current() -> String {
        for destination in destinations {
            if let address = source(of: destination) { return address }
        }
        return "127.0.0.1"
    }

    private static func source(of destination: (UInt8, UInt8, UInt8, UInt8)) -> String? {
        #if canImport(Darwin)
            let type = SOCK_DGRAM
        #else
            let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        #endif
        let descriptor = socket(AF_INET, type, 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var remote = sockaddr_in()
        remote.sin_family = sa_family_t(AF_INET)
        remote.sin_port = UInt16(53).bigEndian
        let bytes = [destination.0, destination.1, destination.2, destination.3]
        remote.sin_addr.s_addr = bytes.reduce(0) { $0 << 8 | UInt32($1) }.bigEndian
        var local = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isConnected = unsafe withUnsafePointer(to: &remote) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe connect(descriptor, $0, length) == 0 }
        }
        let isKnown = unsafe withUnsafeMutablePointer(to: &local) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getsockname(descriptor, $0, &length) == 0 }
        }
        guard isConnected, isKnown else { return nil }
        let value = UInt32(bigEndian: local.sin_addr.s_addr)
        return value == 0 ? nil : [24, 16, 8, 0].map { String(value >> UInt32($0) & 0xFF) }.joined(separator: ".")
    }
}
