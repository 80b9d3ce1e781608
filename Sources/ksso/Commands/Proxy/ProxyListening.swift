internal import CommandSupport
internal import Foundation
internal import NegotiateProxy
internal import SSOAgent
internal import SystemSupport

/// The sockets at which the proxy listens: those of the options, those that systemd passes, or else the default address.
struct ProxyListening: Sendable {
    let listeners: [ProxyConfiguration.Listener]
    /// The known ports on loopback.
    let ports: Set<Int>

    /// - Parameters:
    ///   - addresses: The values of `--listen`.
    ///   - sockets: The values of `--socket`.
    ///   - destination: The server of reverse mode.
    init(
        addresses: [String],
        sockets: [String],
        destination: ReverseDestination?,
        environment: [String: String]
    ) throws(CommandFailure) {
        let defaultHost = destination?.loopbackAddress ?? DefaultProxyAddress.host
        let inherited = InheritedSockets(environment: environment, processID: getpid()).descriptors
        var listeners: [ProxyConfiguration.Listener] = []
        for address in addresses { listeners.append(try Self.listener(address, defaultHost)) }
        listeners += sockets.map { .unix(path: URL(fileURLWithPath: $0).path) }
        listeners += inherited.map { .descriptor($0) }
        if listeners.isEmpty {
            let port = destination == nil ? DefaultProxyAddress.port : DefaultProxyAddress.reversePort
            listeners = [.tcp(host: defaultHost, port: port)]
        }
        self.listeners = listeners
        ports = Set(
            listeners.compactMap { listener in
                switch listener {
                case .tcp(_, let port): port
                case .descriptor(let descriptor): Self.port(of: descriptor)
                case .unix: nil
                }
            }
        )
    }

    /// Parses `ADDRESS:PORT`, or a port of the default address.
    private static func listener(_ text: String, _ defaultHost: String) throws(CommandFailure) -> ProxyConfiguration.Listener {
        let colon = text.lastIndex(of: ":")
        let host = colon.map { String(text[..<$0].trimmingPrefix("[")) } ?? defaultHost
        guard let port = UInt16(colon.map { text[text.index(after: $0)...] } ?? text[...]), !host.isEmpty else {
            let example = DefaultProxyAddress.text
            throw CommandFailure(.usage, "--listen \(text): this is not an address with a port. Write it as in \(example).")
        }
        let address = host.hasSuffix("]") ? String(host.dropLast()) : host
        return .tcp(host: address == "localhost" ? DefaultProxyAddress.host : address, port: Int(port))
    }

    /// The port of a socket that systemd passed; nil for a Unix socket.
    private static func port(of descriptor: Int32) -> Int? {
        var raw = [UInt8](repeating: 0, count: 128)
        var length = socklen_t(raw.count)
        let named = raw.withUnsafeMutableBytes { getsockname(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length) }
        // The addresses of both families begin with the family, in the machine's order, and the port, in that of the network.
        let family = raw.withUnsafeBytes { $0.load(as: sa_family_t.self) }
        guard named == 0, [sa_family_t(AF_INET), sa_family_t(AF_INET6)].contains(family) else { return nil }
        return Int(raw[2]) << 8 | Int(raw[3])
    }
}
