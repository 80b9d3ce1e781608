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

/// How a test web server asks for Kerberos.
public struct ProtectedWebServerOptions: Sendable {
    /// The name by which clients find the server: a name of the realm's ``TestRealm/address``, in lower case.
    public var host: String
    /// The principal whose key the server holds; `HTTP/` and the host if nil. It is added to the realm if it is not there yet.
    public var principal: String?
    /// Whether one accepted request vouches for the later ones of the same connection (`GssapiConnectionBound`).
    ///
    /// The replies say `Persistent-Auth: true` then. Over HTTP/2 they say so too, but there every request is asked again.
    public var connectionBound: Bool
    /// Whether the server remembers authenticators. Turn it off in a benchmark, where the file's fsync would be what is measured.
    public var usesReplayCache: Bool
    /// Whether the server speaks https, with a certificate for its host that it signs itself: ``ProtectedWebServer/certificatePath``.
    public var usesTLS: Bool
    /// The certificate that the server shows with ``usesTLS``: its key and its signature.
    public var certificate: ServerCertificate
    /// Whether the server offers HTTP/2 beside HTTP/1.1, by ALPN; it needs ``usesTLS``.
    public var usesHTTP2: Bool
    /// Whether the server answers a token that it does not take with 401 and no challenge (`GssapiNegotiateOnce`), so that the client
    /// stops.
    public var negotiatesOnce: Bool
    /// Whether the server keeps the tickets that users forward: ``ProtectedWebServer/delegatedCaches()``.
    public var storesDelegatedTickets: Bool
    /// The longest header field that the server takes, in bytes, the name included; a longer one gets 400, over HTTP/2 431.
    ///
    /// 128 KiB by default: a token of 64 KiB has some 88,000 characters. Apache's own default is 8,190 bytes. Over HTTP/2 a field's value
    /// has at most 65,536 bytes whatever this says, which is a token of 49,143 bytes; a longer one ends the connection.
    public var maximumFieldSize: Int
    /// Pages that send the client elsewhere without asking for Kerberos, by their paths.
    public var redirects: [String: Redirect]
    /// How far the server's clock is from the machine's, in whole seconds, by libfaketime; the machine's clock if nil.
    public var clockOffset: Duration?

    /// Creates options; each has a default.
    public init(
        host: String = "localhost",
        principal: String? = nil,
        connectionBound: Bool = false,
        usesReplayCache: Bool = true,
        usesTLS: Bool = false,
        certificate: ServerCertificate = .ecdsaSHA256,
        usesHTTP2: Bool = false,
        negotiatesOnce: Bool = false,
        storesDelegatedTickets: Bool = false,
        maximumFieldSize: Int = 131_072,
        redirects: [String: Redirect] = [:],
        clockOffset: Duration? = nil
    ) {
        self.host = host
        self.principal = principal
        self.connectionBound = connectionBound
        self.usesReplayCache = usesReplayCache
        self.usesTLS = usesTLS
        self.certificate = certificate
        self.usesHTTP2 = usesHTTP2
        self.negotiatesOnce = negotiatesOnce
        self.storesDelegatedTickets = storesDelegatedTickets
        self.maximumFieldSize = maximumFieldSize
        self.redirects = redirects
        self.clockOffset = clockOffset
    }

    var servicePrincipal: String { principal ?? "HTTP/\(host)" }

    /// Where a page sends the client (RFC 9110 section 15.4).
    public struct Redirect: Sendable, Hashable {
        /// The status, from 300 to 399, such as 307.
        public var status: Int
        /// The absolute URL, or a path of the same server.
        public var target: String

        /// Creates a redirect.
        public init(status: Int, target: String) {
            self.status = status
            self.target = target
        }
    }
}

/// Runs a closure with a real Apache that protects a page with the realm's Kerberos.
///
/// Where the tests run as root, the server runs as `www-data`. When the closure returns or throws, the server is dead and its folder is
/// gone; likewise when the task is cancelled, and when the process traps or is killed.
///
/// - Parameters:
///   - realm: The realm, which must outlive the server.
///   - options: How the server asks.
///   - body: The closure, which runs where the caller runs.
/// - Returns: What the closure returns.
/// - Throws: ``KerberosTestingError`` if a program is missing, the options do not go together or the server does not start; otherwise what
///   the closure throws.
nonisolated(nonsending) public func withProtectedWebServer<R>(
    realm: TestRealm,
    _ options: ProtectedWebServerOptions = .init(),
    _ body: nonisolated(nonsending) (ProtectedWebServer) async throws -> R
) async throws -> R {
    try Task.checkCancellation()
    let program = try Program.path(of: "apache2")
    try Program.requireFile("\(ApacheConfiguration.modules)/mod_auth_gssapi.so", package: "libapache2-mod-auth-gssapi")
    let directory = TemporaryFolder.newPath()
    let configuration = ApacheConfiguration(realm: realm, options: options, directory: directory)
    try configuration.check()
    let environment = try configuration.environment()
    return try await DaemonWatcher.withWatcher(making: directory, environment: environment, lastSignal: "TERM") { watcher in
        try await configuration.writeFiles()
        var command = [program, "-f", configuration.path, "-DFOREGROUND"]
        if geteuid() == 0 {
            try await giveToServerAccount(directory, realm: realm)
            let account = ["--reuid=www-data", "--regid=www-data", "--clear-groups"]
            command = [try Program.path(of: "setpriv")] + account + command
        }
        let port = try await start(command, configuration: configuration, watcher: watcher)
        return try await body(ProtectedWebServer(host: options.host, port: port, directory: directory, usesTLS: options.usesTLS))
    }
}

/// Apache refuses to listen on port 0, so ports are tried until one is free; from below those that the kernel gives to clients.
private func start(_ command: [String], configuration: ApacheConfiguration, watcher: DaemonWatcher) async throws -> Int {
    var lastError: any Error = CancellationError()
    for _ in 0..<20 {
        let port = Int.random(in: 20_000..<32_000)
        try configuration.writeMain(port: port)
        let process = try await watcher.start(command)
        do {
            _ = try await ListeningPorts.wait(for: process, needsUDP: false) { configuration.complaints() }
            return port
        } catch let error as KerberosTestingError where error.message.contains("Address already in use") {
            lastError = error
            try await watcher.stop()
            try FileManager.default.removeItem(atPath: "\(configuration.directory)/daemon.log")
        }
    }
    throw lastError
}

private func giveToServerAccount(_ directory: String, realm: TestRealm) async throws {
    _ = try await Command.require(
        "chown",
        ["-R", "www-data:www-data", directory],
        environment: realm.environment,
        scratch: realm.directory
    )
}

extension ApacheConfiguration {
    fileprivate func complaints() -> String {
        let texts = ["daemon.log", "error.log"].compactMap { try? String.contents(ofFile: "\(directory)/\($0)") }
        return texts.joined()
    }
}
