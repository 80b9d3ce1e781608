package import NIOSSL
package import SignOnPolicy

/// The web server to which a ``LocalProxy`` in reverse mode forwards all requests, so that a browser needs no settings.
///
/// Unlike a tunnel, this mode signs in to https servers: the TLS connection is the proxy's own.
package struct ReverseDestination: Sendable {
    /// The server; its path is the browser's.
    package let origin: Origin
    let tls: NIOSSLContext

    /// Creates a destination.
    ///
    /// - Parameter tls: The trusted authorities of an https server. The certificate and the name in it are always verified.
    /// - Throws: An error of NIOSSL if the authorities cannot be loaded.
    package init(_ origin: Origin, tls: TLSConfiguration = .makeClientConfiguration()) throws {
        var tls = tls
        tls.certificateVerification = .fullVerification
        tls.applicationProtocols = ["http/1.1"]
        self.origin = origin
        self.tls = try NIOSSLContext(configuration: tls)
    }
}
