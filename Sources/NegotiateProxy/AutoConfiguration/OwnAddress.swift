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
        // The addresses are bytes, because SwiftNIO's module declares sockaddr_in too, and its members are then not those of this module.
        var remote = [UInt8](repeating: 0, count: 16)
        unsafe remote.withUnsafeMutableBytes { unsafe $0.storeBytes(of: sa_family_t(AF_INET), as: sa_family_t.self) }
        remote.replaceSubrange(2..<8, with: [0, 53, destination.0, destination.1, destination.2, destination.3])
        var local = [UInt8](repeating: 0, count: remote.count)
        var length = socklen_t(remote.count)
        let isConnected = unsafe remote.withUnsafeBytes {
            unsafe connect(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), length) == 0
        }
        let isKnown = unsafe local.withUnsafeMutableBytes {
            unsafe getsockname(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length) == 0
        }
        let address = local[4..<8]
        guard isConnected, isKnown, address.contains(where: { $0 != 0 }) else { return nil }
        return address.map(String.init).joined(separator: ".")
    }
}
