/// A query to a domain controller of Active Directory about its domain, its site and the client's: an LDAP search over UDP that needs no
/// sign-in ([MS-ADTS] section 6.3.3, RFC 4511).
struct NetlogonPing: Sendable, Hashable {
    /// The port of LDAP over UDP.
    static let port: UInt16 = 389
    /// NETLOGON_NT_VERSION_5 and _5EX: the answer has the form with the sites.
    private static let version: UInt32 = 0x6

    /// The domain's DNS name.
    let domain: String
    /// The message ID of the request, which its answers repeat. It is random, so that only those who see the request can answer it.
    let identifier: Int32

    init(domain: String, identifier: Int32 = .random(in: 1...Int32.max)) {
        (self.domain, self.identifier) = (domain, identifier)
    }

    /// Whether a message answers this request. The bytes are untrusted.
    func isAnswered(by datagram: [UInt8]) -> Bool {
        guard var message = BasicEncoding.content(of: datagram[...], BasicEncoding.sequence),
            let number = BasicEncoding.next(in: &message, BasicEncoding.integer), 1...5 ~= number.count
        else { return false }
        return number.reduce(0) { $0 << 8 | Int64($1) } == Int64(identifier)
    }

    /// The request. A controller of another domain answers it with an empty result.
    var message: [UInt8] {
        typealias Encoding = BasicEncoding
        let version = withUnsafeBytes(of: Self.version.littleEndian) { Array($0) }
        let filter = Self.equal("DnsDomain", Array(domain.utf8)) + Self.equal("NtVer", version)
        let zero: [UInt8] = [0]
        let bytes = withUnsafeBytes(of: identifier.bigEndian) { Array($0.drop { $0 == 0 }) }
        // A first bit of 1 would mean a negative number.
        let number = (bytes.first ?? 0xFF) > 0x7F ? zero + bytes : bytes
        let search =
            Encoding.element(Encoding.octetString, [])  // the root of the directory
            + Encoding.element(Encoding.enumerated, zero)  // baseObject
            + Encoding.element(Encoding.enumerated, zero)  // neverDerefAliases
            + Encoding.element(Encoding.integer, zero)  // no limit of size
            + Encoding.element(Encoding.integer, zero)  // no limit of time
            + Encoding.element(Encoding.boolean, zero)  // types and values
            + Encoding.element(Encoding.context(0), filter)  // and
            + Encoding.element(Encoding.sequence, Encoding.element(Encoding.octetString, Array("NetLogon".utf8)))
        let request = Encoding.element(Encoding.integer, number) + Encoding.element(Encoding.application(3), search)
        return Encoding.element(Encoding.sequence, request)
    }

    private static func equal(_ attribute: String, _ value: [UInt8]) -> [UInt8] {
        let texts = [Array(attribute.utf8), value].flatMap { BasicEncoding.element(BasicEncoding.octetString, $0) }
        return BasicEncoding.element(BasicEncoding.context(3), texts)
    }
}

/// A domain controller's answer to a ``NetlogonPing`` (NETLOGON_SAM_LOGON_RESPONSE_EX, [MS-ADTS] section 6.3.1.9).
package struct NetlogonAnswer: Sendable, Hashable {
    /// The domain's DNS name.
    package let domain: String
    /// The forest's DNS name.
    package let forest: String
    /// The controller's DNS name.
    package let host: String
    /// The domain's NetBIOS name, such as `CORP` in `CORP\alice`.
    package let netBIOSName: String
    /// The controller's site.
    package let site: String
    /// The site of the client's network; nil if the domain assigns none.
    package let clientSite: String?
    /// Whether the controller is a KDC.
    package let isKDC: Bool
    /// Whether the controller accepts changes, such as of passwords: not if it is read-only.
    package let isWritable: Bool
}

extension NetlogonAnswer {
    private static let operations: [UInt16] = [23, 25]  // known and unknown user
    private static let keyDistributionCenter: UInt32 = 0x20
    private static let writable: UInt32 = 0x100

    /// Reads a response; nil if it contains no complete answer. The bytes are untrusted.
    init?(_ datagram: [UInt8]) {
        guard let attribute = Self.attribute(in: datagram) else { return nil }
        let value = Array(attribute)
        guard value.count >= 24 else { return nil }
        let operation = UInt16(value[0]) | UInt16(value[1]) << 8
        guard Self.operations.contains(operation) else { return nil }
        let flags = value[4..<8].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        // The names are compressed as in DNS; pointers count from the start of the value. The domain's identifier precedes them.
        let reader = DNSMessageReader(value)
        var names: [String] = []
        var position = 24
        for _ in 0..<8 {
            guard let name = reader.name(at: position), let end = reader.endOfName(at: position) else { return nil }
            names.append(name)
            position = end
        }
        (forest, domain, host, netBIOSName) = (names[0], names[1], names[2], names[3])
        // names[4] is the controller's NetBIOS name and names[5] the user's name.
        (site, clientSite) = (names[6], names[7].isEmpty ? nil : names[7])
        isKDC = flags & Self.keyDistributionCenter != 0
        isWritable = flags & Self.writable != 0
        guard !domain.isEmpty, !host.isEmpty else { return nil }
    }

    /// The value of the attribute `netlogon` in a search result entry.
    private static func attribute(in datagram: [UInt8]) -> ArraySlice<UInt8>? {
        guard var message = BasicEncoding.content(of: datagram[...], BasicEncoding.sequence),
            BasicEncoding.next(in: &message, BasicEncoding.integer) != nil,
            var entry = BasicEncoding.content(of: message, BasicEncoding.application(4)),
            BasicEncoding.next(in: &entry, BasicEncoding.octetString) != nil,
            var attributes = BasicEncoding.content(of: entry, BasicEncoding.sequence)
        else { return nil }
        while var attribute = BasicEncoding.next(in: &attributes, BasicEncoding.sequence) {
            guard let type = BasicEncoding.next(in: &attribute, BasicEncoding.octetString) else { return nil }
            guard String(decoding: type, as: UTF8.self).lowercased() == "netlogon" else { continue }
            guard let values = BasicEncoding.content(of: attribute, BasicEncoding.set) else { return nil }
            return BasicEncoding.content(of: values, BasicEncoding.octetString)
        }
        return nil
    }
}
