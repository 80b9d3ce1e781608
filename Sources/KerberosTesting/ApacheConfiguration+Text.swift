extension ApacheConfiguration {
    /// The text of the one file that Apache reads.
    ///
    /// The event worker needs no mutex between processes with one socket, so that a killed server leaves no semaphore.
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
        <LocationMatch "^/(hello|other)$">
            SetOutputFilter INCLUDES
            \(protection)
        </LocationMatch>

        """
    }

    private var loading: String {
        let always = ["mpm_event", "authn_core", "authz_core", "authz_user", "auth_gssapi", "include", "mime"]
        let modules =
            always + (options.usesTLS ? ["ssl"] : []) + (options.usesHTTP2 ? ["http2"] : []) + (options.redirects.isEmpty ? [] : ["alias"])
        return modules.map { "LoadModule \($0)_module \(Self.modules)/mod_\($0).so" }.joined(separator: "\n")
    }

    /// What makes the server speak https.
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

    /// The whole path has to be the one given: `Redirect` alone would take what comes after it along.
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
            // This directive takes quotation marks for part of the path.
            options.storesDelegatedTickets ? "GssapiDelegCcacheDir \(Self.delegationFolder(in: directory))" : "",
            "Require valid-user",
        ]
        return lines.filter { !$0.isEmpty }.joined(separator: "\n    ")
    }
}
