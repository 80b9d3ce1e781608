import Foundation

/// A separate Apache server with mod_auth_gssapi for one test.
///
/// `/hello` requires Kerberos and answers `Hello alice@EXAMPLE.TEST`, `/other` also requires it and answers `Other alice@EXAMPLE.TEST`,
/// `/open` answers `open` without authentication. Each accepts a POST of any size, and discards the body. Created by
/// ``withProtectedWebServer(realm:_:_:)``. Safe to use from any task until its closure returns.
public struct ProtectedWebServer: Sendable {
    /// The URL without a path, such as `http://localhost:20123`.
    public let url: String
    /// The TCP port, at the realm's ``TestRealm/address``.
    public let port: Int
    /// The folder with the configuration, the pages and the logs; it is removed with the server.
    public let directory: String

    init(host: String, port: Int, directory: String, usesTLS: Bool) {
        self.port = port
        self.directory = directory
        url = "\(usesTLS ? "https" : "http")://\(host):\(port)"
    }

    /// The path of the server's certificate in PEM, which clients must trust; it exists only with ``ProtectedWebServerOptions/usesTLS``.
    public var certificatePath: String { "\(directory)/certificate.pem" }

    /// The path of the server's keytab, read for each request; change it with ``TestRealm/rotateKeys(of:keepingOld:in:updatesKeytab:)``.
    package var keytabPath: String { "\(directory)/http.keytab" }

    /// Returns the access log, with one line for each request: the status, `+` if the connection stays open or `-` (without meaning for
    /// HTTP/2), the user or `-`, the request line, and the client's port, which distinguishes connections.
    ///
    /// Because Apache writes the line after it has sent the reply, a client may receive the reply first.
    public func accessLog() throws -> String {
        try contents(ofLog: "access.log")
    }

    /// Returns the error log, including mod_auth_gssapi's messages about rejected tokens.
    public func errorLog() throws -> String {
        try contents(ofLog: "error.log")
    }

    /// Returns the credential caches with the tickets that users have delegated so far, by principal: `["alice@EXAMPLE.TEST": "FILE:…"]`.
    ///
    /// Empty without ``ProtectedWebServerOptions/storesDelegatedTickets``. If the tests run as root, the caches are owned by `www-data`,
    /// but `klist` can still read them.
    public func delegatedCaches() throws -> [String: String] {
        let folder = ApacheConfiguration.delegationFolder(in: directory)
        guard FileManager.default.fileExists(atPath: folder) else { return [:] }
        // While mod_auth_gssapi writes a cache, the file has a temporary name from mkstemp.
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.contains("@") }
        return Dictionary(uniqueKeysWithValues: names.map { (ApacheConfiguration.principal(ofCache: $0), "FILE:\(folder)/\($0)") })
    }

    /// Reads a log, which is empty at first; `String(contentsOfFile:)` would leak its buffer for an empty file.
    private func contents(ofLog name: String) throws -> String {
        guard let file = FileHandle(forReadingAtPath: "\(directory)/\(name)") else { return "" }
        return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
    }
}

/// The options of a test web server.
public struct ProtectedWebServerOptions: Sendable {
    /// The host name of the server, in lower case; it must resolve to the realm's ``TestRealm/address``.
    public var host: String
    /// The service principal; `HTTP/` and the host if nil. It is added to the realm if it does not exist yet.
    public var principal: String?
    /// Whether one accepted request authenticates the later ones of the same connection (`GssapiConnectionBound`).
    ///
    /// The replies then contain `Persistent-Auth: true`. They do so over HTTP/2 too, but there every request must authenticate.
    public var connectionBound: Bool
    /// Whether the server has a replay cache. Turn it off in a benchmark, which would otherwise measure the fsync of its file.
    public var usesReplayCache: Bool
    /// Whether the server uses https, with a self-signed certificate for its host: ``ProtectedWebServer/certificatePath``.
    public var usesTLS: Bool
    /// The key type and signature algorithm of the certificate that is used with ``usesTLS``.
    public var certificate: ServerCertificate
    /// Whether the server offers HTTP/2 in addition to HTTP/1.1, by ALPN; requires ``usesTLS``.
    public var usesHTTP2: Bool
    /// Whether the server answers a rejected token with 401 and no challenge (`GssapiNegotiateOnce`), so that the client stops.
    public var negotiatesOnce: Bool
    /// Whether the server stores the tickets that users delegate: ``ProtectedWebServer/delegatedCaches()``.
    public var storesDelegatedTickets: Bool
    /// The longest header field that the server accepts, in bytes, including the name. A longer one gets 400, or 431 over HTTP/2.
    ///
    /// The default is 128 KiB, because a token of 64 KiB has some 88,000 characters; Apache's own default is 8,190 bytes. Over HTTP/2 a
    /// field's value has at most 65,536 bytes regardless of this limit, which is a token of 49,143 bytes; a longer one closes the
    /// connection.
    public var maximumFieldSize: Int
    /// Redirects that require no authentication, by path.
    public var redirects: [String: Redirect]
    /// The offset of the server's clock from the machine's, in whole seconds, set with libfaketime; none if nil.
    public var clockOffset: Duration?
    /// A folder whose files are copied to the server: below `/files/` they require Kerberos, below `/open/files/` they do not. An
    /// `index.html` is the page of its folder.
    package var files: String?
    /// The names of empty git repositories, which git-http-backend serves: `/git/NAME.git` requires Kerberos, `/open/git/NAME.git`
    /// does not.
    package var repositories: [String] = []
    /// The port of a WebSocket server on 127.0.0.1; nil without one. `/socket` forwards to it and requires Kerberos.
    package var webSocketPort: Int?

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

    /// A redirect to another URL (RFC 9110 section 15.4).
    public struct Redirect: Sendable, Hashable {
        /// The status, from 300 to 399, such as 307.
        public var status: Int
        /// An absolute URL, or a path of the same server.
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
/// If the tests run as root, the server runs as `www-data`. The server is stopped and its folder removed when the closure returns or
/// throws, when the task is canceled, and when the process traps or is killed. It keeps idle connections for ten minutes.
///
/// - Parameters:
///   - realm: The realm, which must outlive the server.
///   - options: The options of the server.
///   - body: The closure, which runs on the caller's actor.
/// - Returns: The closure's result.
/// - Throws: ``KerberosTestingError`` if a program is missing, the options are inconsistent or the server does not start; otherwise what
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
    if !options.repositories.isEmpty { try Program.requireFile(ServedContent.gitBackend, package: "git") }
    let configuration = ApacheConfiguration(realm: realm, options: options, directory: directory)
    try configuration.check()
    let clock = try options.clockOffset.map(ClockLibrary.command) ?? []
    let environment = configuration.environment()
    return try await DaemonWatcher.withWatcher(making: directory, environment: environment, lastSignal: "TERM") { watcher in
        try await configuration.writeFiles()
        var command = clock + [program, "-f", configuration.path, "-DFOREGROUND"]
        if geteuid() == 0 {
            try await giveToServerAccount(directory, realm: realm)
            let account = ["--reuid=www-data", "--regid=www-data", "--clear-groups"]
            command = [try Program.path(of: "setpriv")] + account + command
        }
        let port = try await start(command, configuration: configuration, watcher: watcher)
        return try await body(ProtectedWebServer(host: options.host, port: port, directory: directory, usesTLS: options.usesTLS))
    }
}

/// Tries ports until one is free, because Apache cannot listen on port 0. The range is below the ports that the kernel assigns to clients.
private func start(_ command: [String], configuration: ApacheConfiguration, watcher: DaemonWatcher) async throws -> Int {
    var lastError: any Error = CancellationError()
    for _ in 0..<20 {
        let port = Int.random(in: 20_000..<32_000)
        if ListeningPorts.isListening(on: port) { continue }
        try configuration.writeMain(port: port)
        let process = try await watcher.start(command)
        do {
            _ = try await ListeningPorts.wait(for: process, needsUDP: false, expected: port) { configuration.complaints() }
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
    try requireEntry(to: URL(filePath: directory).deletingLastPathComponent().path)
    _ = try await Command.require(
        "chown",
        ["-R", "www-data:www-data", directory],
        environment: realm.environment,
        scratch: realm.directory
    )
}

/// Throws if a folder on the way to the server's files is closed to its account, which Apache reports without naming it.
private func requireEntry(to folder: String) throws {
    var path = URL(filePath: folder).resolvingSymlinksInPath().path
    while path != "/" {
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int ?? 0
        guard mode & 0o001 != 0 else {
            throw KerberosTestingError(
                .invalidArgument,
                "Apache runs as www-data, which cannot enter \(path). Set TMPDIR to a folder that every account can enter, or run the tests as "
                    + "a user other than root."
            )
        }
        path = URL(filePath: path).deletingLastPathComponent().path
    }
}

extension ApacheConfiguration {
    fileprivate func complaints() -> String {
        let texts = ["daemon.log", "error.log"].compactMap { try? String.contents(ofFile: "\(directory)/\($0)") }
        return texts.joined()
    }
}
