import Foundation

/// A real Apache with mod_auth_gssapi of its own for one test.
///
/// `/hello` asks for Kerberos and answers `Hello alice@EXAMPLE.TEST`, `/other` does the same and answers `Other alice@EXAMPLE.TEST`,
/// `/open` answers `open` to anyone. Each takes a POST of any size as well, and throws the body away. Get one from
/// ``withProtectedWebServer(realm:_:_:)``. It is safe to use from any task until the closure that it was made for returns.
public struct ProtectedWebServer: Sendable {
    /// The address without a path, such as `http://localhost:20123`.
    public let url: String
    /// The TCP port, at the realm's ``TestRealm/address``.
    public let port: Int
    /// The folder that holds the configuration, the pages and the logs; it goes with the server.
    public let directory: String

    init(host: String, port: Int, directory: String, usesTLS: Bool) {
        self.port = port
        self.directory = directory
        url = "\(usesTLS ? "https" : "http")://\(host):\(port)"
    }

    /// The server's certificate in PEM, for a client to trust; it is there with ``ProtectedWebServerOptions/usesTLS``.
    public var certificatePath: String { "\(directory)/certificate.pem" }

    /// The server's own keytab, which it reads for each request; change it by ``TestRealm/rotateKeys(of:keepingOld:in:updatesKeytab:)``.
    package var keytabPath: String { "\(directory)/http.keytab" }

    /// One line for each request so far: status, `+` if the connection is kept or else `-` (it tells nothing of HTTP/2), user or `-`, the
    /// request line, and the client's port, which tells one connection from another.
    ///
    /// Apache writes the line just after it has sent the reply, so a client that has its reply may be ahead of it.
    public func accessLog() throws -> String {
        try contents(ofLog: "access.log")
    }

    /// What the server complained about so far, with what mod_auth_gssapi says of tokens that it refused.
    public func errorLog() throws -> String {
        try contents(ofLog: "error.log")
    }

    /// The credential caches with the tickets that users have forwarded so far, by principal: `["alice@EXAMPLE.TEST": "FILE:…"]`.
    ///
    /// Empty without ``ProtectedWebServerOptions/storesDelegatedTickets``. Where the tests run as root, a cache belongs to `www-data`, and
    /// `klist` reads it all the same.
    public func delegatedCaches() throws -> [String: String] {
        let folder = ApacheConfiguration.delegationFolder(in: directory)
        guard FileManager.default.fileExists(atPath: folder) else { return [:] }
        // While mod_auth_gssapi writes a cache, it has a name of its own: that of mkstemp's template.
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.contains("@") }
        return Dictionary(uniqueKeysWithValues: names.map { (ApacheConfiguration.principal(ofCache: $0), "FILE:\(folder)/\($0)") })
    }

    /// A log is there from the start, and empty: `String(contentsOfFile:)` would leak its buffer.
    private func contents(ofLog name: String) throws -> String {
        guard let file = FileHandle(forReadingAtPath: "\(directory)/\(name)") else { return "" }
        return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
    }
}
