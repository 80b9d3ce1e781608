/// `host[:port]`, where the host may be an address in brackets (RFC 3986 section 3.2).
struct Authority: Sendable, Hashable {
    /// What is wrong with it.
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

    /// An empty port stands for the default one, as RFC 3986 section 3.2.3 has it.
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
