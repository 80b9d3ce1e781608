/// A principal in the form of a version 4 cache file: type, number of components, realm, components.
///
/// It stays bytes, for realm and components may hold anything, a zero too.
package struct MarshalledPrincipal: Sendable {
    /// The whole, as it came.
    package let bytes: ArraySlice<UInt8>
    private let realmEnd: Int

    /// Reads one principal; what follows it is no matter.
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

    /// Takes bytes that were read as a principal before.
    init(checked bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        let length = bytes.dropFirst(8).prefix(4).reduce(0) { $0 << 8 | Int($1) }
        realmEnd = bytes.startIndex + Self.realmOffset + length
    }

    private static let realmOffset = 12

    /// The realm.
    package var realm: ArraySlice<UInt8> { bytes[(bytes.startIndex + Self.realmOffset)..<realmEnd] }

    /// All but the type, which no comparison looks at: two are the same when these bytes are.
    var identity: ArraySlice<UInt8> { bytes.dropFirst(4) }

    /// The components with their lengths; no two lists have the same bytes, so their number need not be compared.
    var components: ArraySlice<UInt8> { bytes[realmEnd...] }

    /// The name for people, such as `host/server@REALM`: what is no text in it is replaced, and nothing is quoted.
    package var text: String {
        var parts: [Substring] = []
        var reader = ByteReader(components)
        while let part = try? reader.countedBytes("component") { parts.append(Substring(String(decoding: part, as: UTF8.self))) }
        return parts.joined(separator: "/") + "@" + String(decoding: realm, as: UTF8.self)
    }

    /// Whether this is the same principal, `krb5_principal_compare`.
    package func isSame(as other: MarshalledPrincipal) -> Bool { identity == other.identity }

    /// Whether it is the same but for the realm, `krb5_principal_compare_any_realm`.
    package func hasSameComponents(as other: MarshalledPrincipal) -> Bool { components == other.components }

    /// Whether it is the server of an entry that is no ticket: a setting that libkrb5 keeps in the cache, `krb5_cc_set_config`.
    package var isConfiguration: Bool { realm.elementsEqual("X-CACHECONF:".utf8) }

    /// The same with memory of its own, for what outlives a request.
    func detached() -> MarshalledPrincipal { MarshalledPrincipal(checked: Array(bytes)[...]) }
}

extension MarshalledPrincipal: Hashable {
    package static func == (one: MarshalledPrincipal, other: MarshalledPrincipal) -> Bool { one.bytes == other.bytes }
    package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}
