internal import CommandSupport
internal import NIOSSL
internal import NegotiateProxy
internal import SignOnPolicy

extension ReverseDestination {
    /// Checks the value of `--to`.
    ///
    /// - Parameter tls: The trusted authorities; nil for the system's.
    init(option text: String, tls: TLSConfiguration?) throws {
        let origin: Origin
        do throws(AuthorizationError) { origin = try Origin(url: text) } catch { throw CommandFailure(.usage, "--to: \(error.message)") }
        // The text is not repeated, because it may contain a password.
        let rest = text[(text.firstRange(of: "://")?.upperBound ?? text.startIndex)...].drop { !"/?#@".contains($0) }
        guard rest.isEmpty || rest == "/" else {
            throw CommandFailure(.usage, "--to: the proxy forwards every path. Write only the server: \(origin)")
        }
        guard !origin.isAddress else {
            throw CommandFailure(.usage, "--to \(origin): tickets are for names. Write the server's name instead of its address.")
        }
        do {
            try self.init(origin, tls: tls ?? .makeClientConfiguration())
        } catch {
            throw CommandFailure(.failed, "the trusted authorities cannot be loaded: \(error). Check --cacert and SSL_CERT_FILE.")
        }
    }

    /// Refuses a proxy that would forward to itself.
    func check(ownPorts: Set<Int>) throws(CommandFailure) {
        guard origin.host == "localhost" || origin.host.hasSuffix(".localhost"), ownPorts.contains(origin.port) else { return }
        throw CommandFailure(.usage, "--to \(origin): the proxy itself listens there. Choose another address with --listen.")
    }
}
