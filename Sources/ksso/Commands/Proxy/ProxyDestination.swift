internal import CommandSupport
internal import NIOSSL
internal import NegotiateProxy
internal import SignOnPolicy

extension ReverseDestination {
    /// Checks the value of `--to`.
    ///
    /// - Parameters:
    ///   - tls: The trusted authorities; nil for the system's.
    ///   - ownPorts: The ports on which the proxy listens.
    init(option text: String, tls: TLSConfiguration?, ownPorts: Set<Int>) throws {
        let origin: Origin
        do throws(AuthorizationError) { origin = try Origin(url: text) } catch { throw CommandFailure(.usage, "--to: \(error.message)") }
        let rest = text[(text.firstRange(of: "://")?.upperBound ?? text.startIndex)...].drop { !"/?#@".contains($0) }
        guard rest.isEmpty || rest == "/" else {
            throw CommandFailure(.usage, "--to \(text): the proxy forwards every path. Write only the server: \(origin)")
        }
        guard !origin.isAddress else {
            throw CommandFailure(.usage, "--to \(text): tickets are for names. Write the server's name instead of its address.")
        }
        guard origin.host != "localhost" || !ownPorts.contains(origin.port) else {
            throw CommandFailure(.usage, "--to \(text): the proxy itself listens there. Choose another address with --listen.")
        }
        do {
            try self.init(origin, tls: tls ?? .makeClientConfiguration())
        } catch {
            throw CommandFailure(.failed, "the trusted authorities cannot be loaded: \(error). Check --cacert and SSL_CERT_FILE.")
        }
    }
}
