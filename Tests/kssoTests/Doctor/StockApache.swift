import Foundation
import KerberosTesting
import Testing

/// Apache on a port of 127.0.0.1, with no more than a test's own directives: no Kerberos and no pages.
enum StockApache {
    private static let modules = ["mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "headers", "rewrite"]
    private static let proxyModules = ["proxy", "proxy_http"]

    /// Runs a closure, which gets the port, while Apache serves.
    static func with<Value>(_ directives: String, on station: Workstation, _ body: (Int) async throws -> Value) async throws -> Value {
        let program = try Program.path(of: "apache2")
        // Apache refuses to listen on port 0: ports are tried until one is free, below those that the kernel gives to clients.
        for _ in 0..<20 {
            let port = Int.random(in: 20_000..<32_000)
            let file = try station.write(configuration(directives, port: port, station), to: "apache-\(port).conf")
            var isServing = false
            do {
                return try await withDaemon([program, "-f", file, "-DFOREGROUND"], on: station) { apache in
                    try await apache.wait(for: "resuming normal operations")
                    isServing = true
                } _: {
                    try await body(port)
                }.value
            } catch  where !isServing && "\(error)".contains("Address already in use") {
                continue
            }
        }
        throw NoPort()
    }

    private struct NoPort: Error {}

    /// Where root starts it, the parent alone reads and writes files, and those who answer are `www-data`.
    private static func configuration(_ directives: String, port: Int, _ station: Workstation) -> String {
        let loading = (modules + proxyModules).map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }
        let account = geteuid() == 0 ? ["User www-data", "Group www-data"] : []
        let server = [
            "ServerRoot \"\(station.directory)\"", "DefaultRuntimeDir \"\(station.directory)\"",
            "PidFile \"\(station.directory)/apache-\(port).pid\"", "ServerName gate", "UseCanonicalName On", "Listen 127.0.0.1:\(port)",
            "Mutex pthread default", "StartServers 1", "ServerLimit 1", "ThreadsPerChild 8", "MaxRequestWorkers 8", "MinSpareThreads 1",
            "ErrorLog /dev/stderr", "LogLevel notice", "RewriteEngine On",
        ]
        return (loading + account + server + [directives, ""]).joined(separator: "\n")
    }
}

extension StockApache {
    /// Pages for those with a password alone.
    static let asksForAPassword = """
        <Location "/">
            AuthType Basic
            AuthName "x"
            AuthUserFile /dev/null
            Require valid-user
        </Location>
        """

    /// Pages for Windows alone. No module for NTLM is packaged for Debian, so that Apache is told what such a one would ask for.
    static let asksForNTLM = """
        Header always set WWW-Authenticate NTLM
        RewriteRule ^ - [R=401,L]
        """

    /// A proxy that nobody chose: it takes what is meant for a server, and lets those through who sign in to it.
    ///
    /// Apache answers 407 by itself only to those who know that they speak to a proxy.
    static func wantsItsOwnSignIn(before port: Int) -> String {
        """
        Header always set Proxy-Authenticate "Basic realm=gate" "expr=%{REQUEST_STATUS} == 407"
        Header always set Via "1.1 gate" "expr=%{REQUEST_STATUS} == 407"
        RewriteCond %{HTTP:Proxy-Authorization} ^$
        RewriteRule ^ - [R=407,L]
        \(passes(to: port))
        """
    }

    /// A proxy that takes the server's challenges away, as those do that know no sign-in which holds for a connection.
    static func takesChallengesAway(before port: Int) -> String {
        """
        Header always unset WWW-Authenticate
        Header onsuccess unset WWW-Authenticate
        \(passes(to: port))
        """
    }

    private static func passes(to port: Int) -> String {
        """
        ProxyVia On
        ProxyPreserveHost On
        ProxyPass "/" "http://127.0.0.1:\(port)/"
        """
    }
}
