internal import struct Foundation.URL

/// A host in a URL, a rule or a KDC entry: a name or an IPv4 address, validated byte by byte.
///
/// All of them use this parser, so that a rule and a URL never disagree about a name.
package struct HostName: Sendable, Hashable {
    /// Why a text is not a host.
    package enum Problem: Error {
        case empty, notASCII, badCharacter(UInt8), emptyLabel, hyphen, labelTooLong, tooLong, badAddress
    }

    /// ASCII in lower case, without the trailing dot; an IPv4 address in four decimal parts.
    package let text: String
    /// Whether resolvers treat it as an IPv4 address, in any spelling.
    package let isAddress: Bool

    /// Validates a text.
    package init(_ text: some StringProtocol) throws(Problem) {
        var bytes = Array(text.utf8)
        if bytes.count > 1, bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
        guard !bytes.isEmpty else { throw .empty }
        try HostName.checkLabels(bytes)
        guard bytes.count <= 253 else { throw .tooLong }
        let name = bytes.map(\.lowercased)
        let dot = UInt8(ascii: ".")
        // As in the URL standard: if the last label is a number, the whole is an address or invalid.
        guard IPv4Address.isNumber(name[(name.lastIndex(of: dot).map { $0 + 1 } ?? 0)...]) else {
            self.text = String(decoding: name, as: UTF8.self)
            isAddress = false
            return
        }
        guard let address = IPv4Address(parts: name.split(separator: dot)) else { throw .badAddress }
        self.text = address.description
        isAddress = true
    }

    /// The ASCII form of an international name (RFC 5891, UTS 46) according to Foundation; nil if there is none.
    ///
    /// - Parameter text: A host, without other parts of a URL.
    static func asciiForm(of text: some StringProtocol) -> String? {
        guard text.utf8.contains(where: { $0 >= 0x80 }), let host = URL(string: "https://\(text)/")?.host else { return nil }
        return try? HostName(host).text
    }

    private static func checkLabels(_ bytes: [UInt8]) throws(Problem) {
        let dot = UInt8(ascii: ".")
        let hyphen = UInt8(ascii: "-")
        var length = 0
        var previous = dot
        func endLabel() throws(Problem) {
            guard length > 0 else { throw .emptyLabel }
            guard previous != hyphen else { throw .hyphen }
            guard length <= 63 else { throw .labelTooLong }
            length = 0
        }
        for byte in bytes {
            guard byte < 0x80 else { throw .notASCII }
            if byte == dot {
                try endLabel()
            } else {
                guard byte.isLetter || byte.isDigit || byte == hyphen || byte == UInt8(ascii: "_") else { throw .badCharacter(byte) }
                guard length > 0 || byte != hyphen else { throw .hyphen }
                length += 1
            }
            previous = byte
        }
        try endLabel()
    }
}

extension HostName.Problem {
    /// A clause to follow "the host".
    package var clause: String {
        switch self {
        case .empty: "is empty"
        case .notASCII: "is not ASCII; write an internationalized name in its xn-- form"
        case .badCharacter(let byte): "has the character \(HostName.Problem.spelling(byte)), which is not allowed in a host name"
        case .emptyLabel: "has an empty label (two adjacent dots, or an extra dot at either end)"
        case .hyphen: "has a label that begins or ends with a hyphen"
        case .labelTooLong: "has a label over 63 characters"
        case .tooLong: "is over 253 characters"
        case .badAddress: "ends in a number but is not an IPv4 address"
        }
    }

    private static func spelling(_ byte: UInt8) -> String {
        byte > 0x20 && byte < 0x7F ? "“\(Character(Unicode.Scalar(byte)))”" : "0x\(String(byte, radix: 16))"
    }
}

/// `host[:port]`, where the host may be an address in brackets (RFC 3986 section 3.2).
struct Authority: Sendable, Hashable {
    /// Why an authority is invalid.
    enum Problem: Error {
        case host(HostName.Problem), port, address
    }

    let host: String
    let port: Int?
    let isAddress: Bool

    init(_ text: Substring) throws(Problem) {
        let colon = UInt8(ascii: ":")
        let portText: Substring
        if text.utf8.first == UInt8(ascii: "[") {
            guard let close = text.utf8.firstIndex(of: UInt8(ascii: "]")),
                let address = IPv6Address(text[text.utf8.index(after: text.startIndex)..<close])
            else { throw .address }
            host = address.description
            isAddress = true
            portText = text[text.utf8.index(after: close)...]
        } else {
            let end = text.utf8.firstIndex(of: colon) ?? text.endIndex
            let name: HostName
            do { name = try HostName(text[..<end]) } catch { throw .host(error) }
            host = name.text
            isAddress = name.isAddress
            portText = text[end...]
        }
        port = try Authority.port(portText)
    }

    /// An empty port is the default port (RFC 3986 section 3.2.3).
    private static func port(_ text: Substring) throws(Problem) -> Int? {
        guard let first = text.utf8.first else { return nil }
        guard first == UInt8(ascii: ":") else { throw .port }
        let digits = text.utf8.dropFirst()
        if digits.isEmpty { return nil }
        var port = 0
        for digit in digits {
            guard digit.isDigit else { throw .port }
            port = port * 10 + Int(digit - UInt8(ascii: "0"))
            guard port <= 65535 else { throw .port }
        }
        guard port > 0 else { throw .port }
        return port
    }
}
