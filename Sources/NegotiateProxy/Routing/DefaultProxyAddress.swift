/// The default address on which `ksso proxy run` listens, and which `ksso configure` writes into the settings of other programs.
package enum DefaultProxyAddress {
    /// The loopback address, because the proxy serves the programs of this machine only.
    package static let host = "127.0.0.1"

    /// The port: 8000 and the status 407, which the proxy answers for its clients.
    ///
    /// It needs no privileges, is below the ports that Linux gives to outgoing connections (32768 and up), and is not the default of
    /// another proxy, as 3128, 8080, 8118, 8123 and 8888 are.
    package static let port = 8407

    /// The port in reverse mode, so that both modes can run.
    package static let reversePort = 8408

    /// `host:port`.
    package static let text = "\(host):\(port)"
}
