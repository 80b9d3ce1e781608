/// The address and port of one end of a TCP connection, as the kernel's tables name it.
struct TCPSocketName: Sendable, Hashable {
    /// 4 or 16 bytes in network order; an IPv4 address that is mapped into IPv6 has 4.
    let address: [UInt8]
    let port: UInt16

    var isLoopback: Bool {
        address.count == 4 ? address[0] == 127 : address == [UInt8](repeating: 0, count: 15) + [1]
    }

    init(address: [UInt8], port: UInt16) {
        self.address = address
        self.port = port
    }
}
