import Foundation

/// The files in a test web server's folder.
struct ApacheConfiguration {
    static let modules = "/usr/lib/apache2/modules"

    let realm: TestRealm
    let options: ProtectedWebServerOptions
    let directory: String

    var path: String { "\(directory)/httpd.conf" }
    var keytabPath: String { "\(directory)/http.keytab" }

    /// Returns the folder in which mod_auth_gssapi stores delegated tickets.
    static func delegationFolder(in directory: String) -> String { "\(directory)/delegated" }

    /// Decodes the cache names of mod_auth_gssapi, in which `~` stands for a slash and `~~` for a tilde.
    static func principal(ofCache name: String) -> String {
        name.split(separator: "~~", omittingEmptySubsequences: false).map { $0.replacing("~", with: "/") }.joined(separator: "~")
    }

    /// Returns the server's environment. It uses copies of the realm's files, because the server's account cannot access the realm's
    /// folder.
    func environment() -> [String: String] {
        realm.environment.merging([
            "KRB5_CONFIG": "\(directory)/krb5.conf",
            "KRB5_KTNAME": "FILE:\(keytabPath)",
            "KRB5_CLIENT_KTNAME": "FILE:\(directory)/client.keytab",
            "KRB5CCNAME": "FILE:\(directory)/ccache",
            "KRB5RCACHENAME": options.usesReplayCache ? "dfl:" : "none:",
            "KRB5RCACHEDIR": directory,
        ]) { $1 }
    }

    /// Rejects options that Apache would misinterpret, or with which it would not start.
    func check() throws {
        try ListeningAddress.checkName(options.host, of: realm.address)
        guard options.usesTLS || !options.usesHTTP2 else {
            throw KerberosTestingError(.invalidArgument, "HTTP/2 is offered over TLS only; set usesTLS too.")
        }
        guard options.maximumFieldSize > 0 else {
            throw KerberosTestingError(
                .invalidArgument,
                "No field fits into \(options.maximumFieldSize) bytes; set maximumFieldSize above 0."
            )
        }
        for (path, redirect) in options.redirects {
            guard path.hasPrefix("/"), 300..<400 ~= redirect.status, Self.isPlain(path), Self.isPlain(redirect.target) else {
                throw KerberosTestingError(
                    .invalidArgument,
                    "\(path) cannot redirect with \(redirect.status) to \(redirect.target): the path begins with a slash, the "
                        + "status is from "
                        + "300 to 399, and neither path nor target has a space, a quotation mark, a backslash, a dollar sign or %{."
                )
            }
        }
    }

    /// Whether Apache reads the text literally in a quoted string of an expression.
    private static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && !text.contains("%{") && !text.contains { $0.isWhitespace || $0.isNewline || "\"'\\$".contains($0) }
    }

    /// Writes all files except the main configuration, which contains the port.
    func writeFiles() async throws {
        let files = FileManager.default
        try files.copyItem(atPath: realm.configurationPath, toPath: "\(directory)/krb5.conf")
        try files.moveItem(atPath: try await keytab(), toPath: keytabPath)
        try files.createDirectory(atPath: "\(directory)/pages", withIntermediateDirectories: false)
        for (page, greeting) in [("hello", "Hello"), ("other", "Other")] {
            try "\(greeting) <!--#echo encoding=\"none\" var=\"REMOTE_USER\" -->\n".writeFile("\(directory)/pages/\(page)")
        }
        try "open\n".writeFile("\(directory)/pages/open")
        try await content.write(with: realm)
        if options.storesDelegatedTickets {
            try files.createDirectory(atPath: Self.delegationFolder(in: directory), withIntermediateDirectories: false)
        }
        if options.usesTLS {
            try await options.certificate.write(
                "\(directory)/certificate.pem",
                key: "\(directory)/key.pem",
                host: options.host,
                realm: realm
            )
        }
    }

    func writeMain(port: Int) throws {
        try text(port: port).writeFile(path)
    }

    private var content: ServedContent {
        ServedContent(
            files: options.files,
            repositories: options.repositories,
            webSocketPort: options.webSocketPort,
            directory: directory
        )
    }

    private func keytab() async throws -> String {
        do {
            return try await realm.keytab(for: options.servicePrincipal)
        } catch let error as KerberosTestingError where error.code == .commandFailed {
            try await realm.addService(options.servicePrincipal)
            return try await realm.keytab(for: options.servicePrincipal)
        }
    }
}

extension ApacheConfiguration {
    /// Returns Apache's main configuration.
    ///
    /// With a single socket, the event MPM needs no mutex between processes, so that a killed server leaves no semaphore behind. Idle
    /// connections are kept for ten minutes instead of five seconds, because a test on a busy machine may send its next request late.
    func text(port: Int) -> String {
        """
        \(loading)
        ServerRoot "\(directory)"
        DefaultRuntimeDir "\(directory)"
        PidFile "\(directory)/httpd.pid"
        ServerName \(options.host)
        Listen \(realm.address):\(port)
        Mutex pthread default
        \(secureTransport)
        StartServers 1
        ServerLimit 1
        ThreadLimit 192
        ThreadsPerChild 192
        MaxRequestWorkers 192
        MinSpareThreads 1
        KeepAliveTimeout 600
        LimitRequestFieldSize \(options.maximumFieldSize)
        TypesConfig /dev/null
        ErrorLog "\(directory)/error.log"
        LogLevel warn auth_gssapi:info
        CustomLog "\(directory)/access.log" "%>s %X %u \\"%r\\" %{remote}p"
        DocumentRoot "\(directory)/pages"
        <Directory "\(directory)/pages">
            AllowOverride None
            Options +Includes
            ForceType text/plain
            Require all granted
        </Directory>
        \(redirects)
        \(content.directives)
        <LocationMatch "^/(hello|other)$">
            SetOutputFilter INCLUDES
        </LocationMatch>
        <LocationMatch "^/((hello|other|socket)$|files/|git/)">
            \(protection)
        </LocationMatch>

        """
    }

    private var loading: String {
        let always = ["mpm_event", "authn_core", "authz_core", "authz_user", "auth_gssapi", "include", "mime", "alias"]
        let modules = always + (options.usesTLS ? ["ssl"] : []) + (options.usesHTTP2 ? ["http2"] : []) + content.modules
        return modules.map { "LoadModule \($0)_module \(Self.modules)/mod_\($0).so" }.joined(separator: "\n")
    }

    /// The directives for https.
    private var secureTransport: String {
        guard options.usesTLS else { return "" }
        return """
            SSLEngine on
            SSLCertificateFile "\(directory)/certificate.pem"
            SSLCertificateKeyFile "\(directory)/key.pem"
            SSLSessionCache none
            Protocols \(options.usesHTTP2 ? "h2 " : "")http/1.1
            """
    }

    /// The condition matches the whole path; `Redirect` alone would append the rest of a longer path to the target.
    private var redirects: String {
        options.redirects.sorted { $0.key < $1.key }.map { path, redirect in
            """
            <If "%{REQUEST_URI} == '\(path)'">
                Redirect \(redirect.status) "\(redirect.target)"
            </If>
            """
        }.joined(separator: "\n")
    }

    private var protection: String {
        let lines = [
            "AuthType GSSAPI",
            "AuthName \"\(realm.name)\"",
            "GssapiCredStore \"keytab:\(keytabPath)\"",
            "GssapiAllowedMech krb5",
            "GssapiLocalName Off",
            "GssapiSignalPersistentAuth On",
            "GssapiConnectionBound \(options.connectionBound ? "On" : "Off")",
            "GssapiNegotiateOnce \(options.negotiatesOnce ? "On" : "Off")",
            // This directive treats quotation marks as part of the path.
            options.storesDelegatedTickets ? "GssapiDelegCcacheDir \(Self.delegationFolder(in: directory))" : "",
            "Require valid-user",
        ]
        return lines.filter { !$0.isEmpty }.joined(separator: "\n    ")
    }
}
