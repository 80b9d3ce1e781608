/// What a KDC proxy is sent, and what it sends back ([MS-KKDCP] section 2.2.2), in DER:
/// `SEQUENCE { kerb-message [0] OCTET STRING, target-domain [1] Realm OPTIONAL, dclocator-hint [2] INTEGER OPTIONAL }`.
enum KDCProxyMessage {
    private static let sequence: UInt8 = 0x30
    private static let octets: UInt8 = 0x04
    private static let generalString: UInt8 = 0x1B
    private static let first: UInt8 = 0xA0
    private static let second: UInt8 = 0xA1

    /// A message for a realm's KDC, which stands in it as over TCP: behind its length.
    static func encoded(_ message: [UInt8], realm: String) -> [UInt8] {
        let count = withUnsafeBytes(of: UInt32(message.count).bigEndian) { Array($0) }
        let content = element(first, element(octets, count + message)) + element(second, element(generalString, Array(realm.utf8)))
        return element(sequence, content)
    }

    /// The KDC's message in an answer; nil where it is none. The bytes come from anybody.
    static func message(in answer: [UInt8]) -> [UInt8]? {
        guard let whole = content(of: answer[...], sequence), let field = content(of: whole, first),
            let framed = content(of: field, octets), framed.count > 4
        else { return nil }
        let count = framed.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        return count == framed.count - 4 ? Array(framed.dropFirst(4)) : nil
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        guard content.count > 127 else { return [tag, UInt8(content.count)] + content }
        let bytes = withUnsafeBytes(of: UInt32(content.count).bigEndian) { Array($0.drop { $0 == 0 }) }
        return [tag, 0x80 | UInt8(bytes.count)] + bytes + content
    }

    /// The content of the element that bytes begin with.
    private static func content(of bytes: ArraySlice<UInt8>, _ tag: UInt8) -> ArraySlice<UInt8>? {
        guard bytes.count > 1, bytes.first == tag, let mark = bytes.dropFirst().first else { return nil }
        let rest = bytes.dropFirst(2)
        guard mark > 127 else { return rest.count >= Int(mark) ? rest.prefix(Int(mark)) : nil }
        let width = Int(mark & 0x7F)
        guard 1...4 ~= width, rest.count >= width else { return nil }
        let count = rest.prefix(width).reduce(0) { $0 << 8 | Int($1) }
        let content = rest.dropFirst(width)
        return content.count >= count ? content.prefix(count) : nil
    }
}
