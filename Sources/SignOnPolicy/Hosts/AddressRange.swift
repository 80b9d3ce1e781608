/// An IPv4 or IPv6 address. An IPv4 address and its IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2) are the same.
package struct NetworkAddress: Sendable, Hashable {
    /// The IPv6 address, or the IPv4-mapped one.
    let value: UInt128

    /// Whether this is an IPv4 address.
    var isIPv4: Bool { value >> 32 == 0xFFFF }

    /// Parses an address. An IPv4 address may have any spelling that resolvers accept, an IPv6 address has no brackets; its zone is
    /// ignored.
    package init?(_ text: some StringProtocol) {
        if text.utf8.contains(UInt8(ascii: ":")) {
            let end = text.utf8.firstIndex(of: UInt8(ascii: "%")) ?? text.endIndex
            guard let address = IPv6Address(text[..<end]) else { return nil }
            value = address.groups.reduce(0) { $0 << 16 | UInt128($1) }
        } else {
            // The host has the canonical spelling of an address.
            guard let host = try? HostName(text), host.isAddress else { return nil }
            guard let address = IPv4Address(parts: Array(host.text.utf8).split(separator: UInt8(ascii: "."))) else { return nil }
            value = 0xFFFF << 32 | UInt128(address.value)
        }
    }
}

/// The addresses with the same first bits, as in `10.0.0.0/8` (RFC 4632, CIDR).
struct AddressRange: Sendable, Hashable {
    private let base: NetworkAddress
    /// The number of the first bits that are compared, of 128.
    private let prefixLength: Int

    /// Creates a range of one address.
    init(_ address: NetworkAddress) { (base, prefixLength) = (address, 128) }

    /// Creates the range of an address with a prefix length, which is at most 32 for an IPv4 address and at most 128 for an IPv6
    /// address. Returns nil for another length.
    init?(_ address: NetworkAddress, prefixLength: Int, isWrittenAsIPv4: Bool) {
        let unused = isWrittenAsIPv4 ? 96 : 0
        guard (0...(128 - unused)).contains(prefixLength) else { return nil }
        (base, self.prefixLength) = (address, prefixLength + unused)
    }

    /// Whether an address is in the range. A range of IPv6 addresses, such as `::/0`, contains no IPv4 address.
    func contains(_ address: NetworkAddress) -> Bool {
        let isIPv4 = base.isIPv4 && prefixLength >= 96
        return address.isIPv4 == isIPv4 && (address.value ^ base.value) >> UInt128(128 - prefixLength) == 0
    }
}
