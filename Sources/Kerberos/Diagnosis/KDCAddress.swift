/// Where a KDC is, as krb5.conf or an SRV record has it.
package struct KDCAddress: Sendable, Hashable, CustomStringConvertible {
    /// A name, or an address without brackets.
    package let host: String
    /// The port; 88 where nothing else is said (RFC 4120 section 7.2.3).
    package let port: UInt16

    /// Makes an address.
    package init(host: String, port: UInt16 = 88) {
        self.host = host
        self.port = port
    }

    /// Reads an entry of krb5.conf: `host`, `host:port`, `[v6]:port`. Nil for the URL of a KDC proxy.
    package init?(_ text: String) {
        guard !text.contains("/") else { return nil }
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            let rest = text[text.index(after: end)...]
            self.init(host: String(text[text.index(after: text.startIndex)..<end]), port: UInt16(rest.dropFirst()) ?? 88)
        } else if let colon = text.firstIndex(of: ":"), text.lastIndex(of: ":") == colon {
            self.init(host: String(text[..<colon]), port: UInt16(text[text.index(after: colon)...]) ?? 88)
        } else {
            self.init(host: text)
        }
    }

    /// `host:port`.
    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
