/// A real Apache with mod_auth_gssapi on loopback, of its own for one test.
///
/// `/hello` asks for Kerberos and answers `Hello alice@EXAMPLE.TEST`, `/open` answers `open` to anyone. Get one from
/// ``withProtectedWebServer(realm:_:_:)``. It is safe to use from any task until the closure that it was made for returns.
public struct ProtectedWebServer: Sendable {
    /// The address without a path, such as `http://localhost:20123`.
    public let url: String
    /// The TCP port on 127.0.0.1.
    public let port: Int
    /// The folder that holds the configuration, the pages and the logs; it goes with the server.
    public let directory: String

    init(port: Int, directory: String, usesTLS: Bool) {
        self.port = port
        self.directory = directory
        url = "\(usesTLS ? "https" : "http")://localhost:\(port)"
    }

    /// The server's certificate in PEM, for a client to trust; it is there with ``ProtectedWebServerOptions/usesTLS``.
    public var certificatePath: String { "\(directory)/certificate.pem" }

    /// One line for each request so far: status, `+` if the connection is kept or else `-`, user or `-`, and the request line.
    ///
    /// Apache writes the line just after it has sent the reply, so a client that has its reply may be ahead of it.
    public func accessLog() throws -> String {
        try String.contents(ofFile: "\(directory)/access.log")
    }

    /// What the server complained about so far, with what mod_auth_gssapi says of tokens that it refused.
    public func errorLog() throws -> String {
        try String.contents(ofFile: "\(directory)/error.log")
    }
}
