/// One entry of a profile's `ProxyServers`: `host:port`, the address of an HTTP proxy.
public struct ProxyAddress: Sendable, Hashable, CustomStringConvertible {
    /// A host name in lower case, or an address without brackets.
    public let host: String
    /// The port.
    public let port: Int

    /// Parses an entry. Throws a ``HostRuleError`` that says which part is wrong.
    ///
    /// The port is required, because programs disagree about the port of a proxy that has none.
    public init(_ text: String) throws(HostRuleError) {
        let quoted = text.quoted
        let remedy = "write host and port alone, such as proxy.example.com:3128."
        if text.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "@") }) {
            throw HostRuleError(.schemeOrPath, text: text, reason: "\(quoted) is more than a proxy's address: \(remedy)")
        }
        do throws(Authority.Problem) {
            let parsed = try Authority(text[...])
            guard let port = parsed.port else { throw .port }
            (host, self.port) = (parsed.host, port)
        } catch {
            switch error {
            case .host(let problem): throw HostRuleError(problem, text: text)
            case .port: throw HostRuleError(.port, text: text, reason: "\(quoted) has no port from 1 to 65535: \(remedy)")
            case .address: throw HostRuleError(.address, text: text, reason: "\(quoted) has no valid address between its brackets.")
            }
        }
    }

    /// The entry in profile syntax.
    public var description: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
