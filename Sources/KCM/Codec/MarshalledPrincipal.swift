/// A principal in the format of a version 4 cache file: name type, number of components, realm, components.
///
/// It is stored as bytes, because the realm and the components may contain any byte, including zero.
package struct MarshalledPrincipal: Sendable {
    /// The encoded principal, unchanged.
    package let bytes: ArraySlice<UInt8>
    private let realmEnd: Int

    /// Reads one principal; ignores any bytes that follow.
    package init(_ bytes: [UInt8]) throws(MalformedInput) {
        var reader = ByteReader(bytes)
        self = try MarshalledPrincipal(from: &reader)
    }

    init(from reader: inout ByteReader) throws(MalformedInput) {
        let whole = reader.rest
        _ = try reader.number("name type", as: UInt32.self)
        let count = try reader.number("number of components", as: UInt32.self)
        _ = try reader.countedBytes("realm")
        realmEnd = reader.rest.startIndex
        for _ in 0..<count { _ = try reader.countedBytes("component") }
        bytes = whole[..<reader.rest.startIndex]
    }

    /// Creates a principal from bytes that have already been parsed as one.
    init(checked bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        let length = bytes.dropFirst(8).prefix(4).reduce(0) { $0 << 8 | Int($1) }
        realmEnd = bytes.startIndex + Self.realmOffset + length
    }

    private static let realmOffset = 12

    package var realm: ArraySlice<UInt8> { bytes[(bytes.startIndex + Self.realmOffset)..<realmEnd] }

    /// All bytes except the name type, which no comparison uses. Two principals are the same if these bytes are equal.
    var identity: ArraySlice<UInt8> { bytes.dropFirst(4) }

    /// The components with their lengths. Because different lists have different bytes, their number need not be compared.
    var components: ArraySlice<UInt8> { bytes[realmEnd...] }

    /// The name for display, such as `host/server@REALM`. Invalid UTF-8 is replaced, and nothing is quoted.
    package var text: String {
        var parts: [Substring] = []
        var reader = ByteReader(components)
        while let part = try? reader.countedBytes("component") { parts.append(Substring(String(decoding: part, as: UTF8.self))) }
        return parts.joined(separator: "/") + "@" + String(decoding: realm, as: UTF8.self)
    }

    /// Whether the principals are equal, as in `krb5_principal_compare`.
    package func isSame(as other: MarshalledPrincipal) -> Bool { identity == other.identity }

    /// Whether the principals are equal except for the realm, as in `krb5_principal_compare_any_realm`.
    package func hasSameComponents(as other: MarshalledPrincipal) -> Bool { components == other.components }

    /// Whether this is the server name of a configuration entry (`krb5_cc_set_config`), which is not a ticket.
    package var isConfiguration: Bool { realm.elementsEqual("X-CACHECONF:".utf8) }

    /// A copy with its own memory, for use after the request has ended.
    func detached() -> MarshalledPrincipal { MarshalledPrincipal(checked: Array(bytes)[...]) }
}

extension MarshalledPrincipal: Hashable {
    package static func == (one: MarshalledPrincipal, other: MarshalledPrincipal) -> Bool { one.bytes == other.bytes }
    package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}
