internal import NIOCore
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
        tls.minimumTLSVersion = .tlsv12
        // A connection that this side closes waits for the server's close_notify, and receives none after its end.
        tls.shutdownTimeout = .milliseconds(100)
        tls.applicationProtocols = ["http/1.1"]
        self.origin = origin
        self.tls = try NIOSSLContext(configuration: tls)
    }

    /// The loopback address of this server: the same one each time, and another one for every server.
    ///
    /// Pages of two servers at one address would be pages of one site for a browser, with the same cookies, stored scripts and rights.
    package var loopbackAddress: String {
        // FNV-1a
        let hash = origin.description.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
        let parts = [hash >> 16, hash >> 8, hash].map { 1 + ($0 & 0xFF) % 254 }
        return "127." + parts.map(String.init).joined(separator: ".")
    }
}
