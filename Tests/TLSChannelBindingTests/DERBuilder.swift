/// A DER value: tag, length and the parts of its content.
func der(_ tag: UInt8, _ parts: [UInt8]...) -> [UInt8] {
    let content = parts.flatMap { $0 }
    guard content.count > 127 else { return [tag, UInt8(content.count)] + content }
    let count = UInt64(content.count)
    let length = (0..<8).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }.drop { $0 == 0 }
    return [tag, 0x80 | UInt8(length.count)] + length + content
}

/// The DER tags in a certificate.
enum Tag {
    static let bitString: UInt8 = 0x03
    static let null: UInt8 = 0x05
    static let sequence: UInt8 = 0x30
    static let integer: UInt8 = 0x02
    /// A context-specific, constructed tag.
    static func field(_ number: UInt8) -> UInt8 { 0xA0 | number }
}

/// The identifiers of algorithms, as DER values.
enum Identifier {
    static let sha1: [UInt8] = [0x06, 0x05, 0x2B, 0x0E, 0x03, 0x02, 0x1A]
    static let sha256: [UInt8] = [0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
    static let sha384: [UInt8] = [0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02]
    /// 1.2.840.10045.4.3.2
    static let ecdsaSHA256: [UInt8] = [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]
    /// 1.3.14.3.2.29
    static let oldRSASHA1: [UInt8] = [0x06, 0x05, 0x2B, 0x0E, 0x03, 0x02, 0x1D]
    static let mgf1: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x08]
    static let pss: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0A]
}

/// The smallest value with the outermost fields of a certificate.
func certificate(algorithm: [UInt8], body: [UInt8] = der(Tag.sequence), signature: [UInt8] = [0x03, 0x01, 0x00]) -> [UInt8] {
    der(Tag.sequence, body, algorithm, signature)
}
