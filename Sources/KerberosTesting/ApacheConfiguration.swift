import Foundation

/// The files of a test web server's folder.
struct ApacheConfiguration {
    static let modules = "/usr/lib/apache2/modules"

    let realm: TestRealm
    let options: ProtectedWebServerOptions
    let directory: String

    var path: String { "\(directory)/httpd.conf" }
    var keytabPath: String { "\(directory)/http.keytab" }

    /// Copies of the realm's files, since the server's account cannot enter the realm's folder.
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

    /// Writes everything but the port.
    func writeFiles() async throws {
        let files = FileManager.default
        try files.copyItem(atPath: realm.configurationPath, toPath: "\(directory)/krb5.conf")
        try files.moveItem(atPath: try await keytab(), toPath: keytabPath)
        try files.createDirectory(atPath: "\(directory)/pages", withIntermediateDirectories: false)
        try "Hello <!--#echo encoding=\"none\" var=\"REMOTE_USER\" -->\n".writeFile("\(directory)/pages/hello")
        try "open\n".writeFile("\(directory)/pages/open")
        if options.usesTLS { try await makeCertificate() }
    }

    /// A key and a certificate for localhost, good for a day.
    private func makeCertificate() async throws {
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-keyout", "\(directory)/key.pem"]
        let name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        _ = try await Command.require(
            "openssl",
            ["req", "-x509", "-days", "1", "-out", "\(directory)/certificate.pem"] + key + name,
            environment: realm.environment,
            scratch: realm.directory
        )
    }

    /// What makes the server speak https.
    private var secureTransport: String {
        guard options.usesTLS else { return "" }
        return """
            SSLEngine on
            SSLCertificateFile "\(directory)/certificate.pem"
            SSLCertificateKeyFile "\(directory)/key.pem"
            SSLSessionCache none
            """
    }

    func writeMain(port: Int) throws {
        try text(port: port).writeFile(path)
    }

    private func keytab() async throws -> String {
        do {
            return try await realm.keytab(for: options.principal)
        } catch let error as KerberosTestingError where error.code == .commandFailed {
            try await realm.addService(options.principal)
            return try await realm.keytab(for: options.principal)
        }
    }

    /// The event worker needs no mutex between processes with one socket, so that a killed server leaves no semaphore.
    private func text(port: Int) -> String {
        let modules =
            [
                "mpm_event", "authn_core", "authz_core", "authz_user", "auth_gssapi", "include", "mime",
            ] + (options.usesTLS ? ["ssl"] : [])
        let loading = modules.map { "LoadModule \($0)_module \(Self.modules)/mod_\($0).so" }.joined(separator: "\n")
        return """
            \(loading)
            ServerRoot "\(directory)"
            DefaultRuntimeDir "\(directory)"
            PidFile "\(directory)/httpd.pid"
            ServerName localhost
            Listen 127.0.0.1:\(port)
            Mutex pthread default
            \(secureTransport)
            StartServers 1
            ServerLimit 1
            ThreadsPerChild 32
            MaxRequestWorkers 32
            MinSpareThreads 1
            LimitRequestFieldSize 65536
            TypesConfig /dev/null
            ErrorLog "\(directory)/error.log"
            LogLevel warn auth_gssapi:info
            CustomLog "\(directory)/access.log" "%>s %X %u \\"%r\\""
            DocumentRoot "\(directory)/pages"
            <Directory "\(directory)/pages">
                AllowOverride None
                Options +Includes
                ForceType text/plain
                Require all granted
            </Directory>
            <Location "/hello">
                SetOutputFilter INCLUDES
                AuthType GSSAPI
                AuthName "\(realm.name)"
                GssapiCredStore "keytab:\(keytabPath)"
                GssapiAllowedMech krb5
                GssapiLocalName Off
                GssapiSignalPersistentAuth On
                GssapiConnectionBound \(options.connectionBound ? "On" : "Off")
                Require valid-user
            </Location>

            """
    }
}
