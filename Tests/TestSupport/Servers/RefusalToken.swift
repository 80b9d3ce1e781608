/// A server's SPNEGO reply that refuses a client's first token with a Kerberos error (KRB-ERROR, RFC 4120).
///
/// It lets a test choose the error. A server that accepts tokens sends most of these errors only in rare cases.
public enum RefusalToken {
    /// Returns the reply.
    ///
    /// - Parameters:
    ///   - code: The error code of RFC 4120, section 7.5.9, such as 34 for a repeated token.
    ///   - host: The host of the server's principal.
    public static func bytes(code: UInt8, host: String, realm: String) -> [UInt8] {
        let service = element(0x30, integer(0xa0, 2) + element(0xa1, element(0x30, text("HTTP") + text(host))))
        let time = element(0xa4, element(0x18, Array("20300101000000Z".utf8)))
        let fields = integer(0xa0, 5) + integer(0xa1, 30) + time + integer(0xa5, 0) + integer(0xa6, code)
        let error = element(0x7e, element(0x30, fields + element(0xa9, text(realm)) + element(0xaa, service)))
        let kerberos: [UInt8] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02]
        let rejected: [UInt8] = [0xa0, 0x03, 0x0a, 0x01, 0x02]
        let token = element(0xa2, element(0x04, element(0x60, kerberos + [0x03, 0x00] + error)))
        return element(0xa1, element(0x30, rejected + element(0xa1, kerberos) + token))
    }

    private static func integer(_ tag: UInt8, _ value: UInt8) -> [UInt8] { element(tag, [0x02, 0x01, value]) }

    private static func text(_ text: String) -> [UInt8] { element(0x1b, Array(text.utf8)) }

    /// A DER element. No content here is longer than 65,535 bytes.
    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        switch content.count {
        case ..<0x80: [tag, UInt8(content.count)] + content
        case ..<0x100: [tag, 0x81, UInt8(content.count)] + content
        default: [tag, 0x82, UInt8(content.count >> 8), UInt8(content.count & 0xff)] + content
        }
    }
}
