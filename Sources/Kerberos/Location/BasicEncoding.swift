/// Encodes and decodes the few ASN.1 elements (BER and DER, X.690) of messages that libkrb5 does not handle.
///
/// The bytes that are decoded are untrusted: nothing outside them is read.
enum BasicEncoding {
    static let boolean: UInt8 = 0x01
    static let integer: UInt8 = 0x02
    static let octetString: UInt8 = 0x04
    static let enumerated: UInt8 = 0x0A
    static let sequence: UInt8 = 0x30
    static let set: UInt8 = 0x31

    /// The tag of a constructed element with a context-specific number below 31.
    static func context(_ number: UInt8) -> UInt8 { 0xA0 | number }

    /// The tag of a constructed element with an application number below 31.
    static func application(_ number: UInt8) -> UInt8 { 0x60 | number }

    /// Encodes an element with the shortest length.
    static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        guard content.count > 127 else { return [tag, UInt8(content.count)] + content }
        let bytes = withUnsafeBytes(of: UInt32(content.count).bigEndian) { Array($0.drop { $0 == 0 }) }
        return [tag, 0x80 | UInt8(bytes.count)] + bytes + content
    }

    /// The content of the first element; nil if its tag differs or it is incomplete.
    static func content(of bytes: ArraySlice<UInt8>, _ tag: UInt8) -> ArraySlice<UInt8>? {
        var rest = bytes
        return next(in: &rest, tag)
    }

    /// Removes the first element and returns its content; nil if its tag differs or it is incomplete.
    static func next(in bytes: inout ArraySlice<UInt8>, _ tag: UInt8) -> ArraySlice<UInt8>? {
        guard bytes.first == tag, let mark = bytes.dropFirst().first else { return nil }
        let rest = bytes.dropFirst(2)
        // Windows writes lengths of four bytes, also of short elements.
        let width = mark > 127 ? Int(mark & 0x7F) : 0
        guard mark <= 127 || 1...4 ~= width, rest.count >= width else { return nil }
        let count = mark > 127 ? rest.prefix(width).reduce(0) { $0 << 8 | Int($1) } : Int(mark)
        let content = rest.dropFirst(width)
        guard content.count >= count else { return nil }
        bytes = content.dropFirst(count)
        return content.prefix(count)
    }
}
