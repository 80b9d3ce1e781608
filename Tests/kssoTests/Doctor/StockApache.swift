import Foundation
import KerberosTesting
import Testing

/// Apache on a port of 127.0.0.1 with only a test's own directives, without Kerberos and without pages.
enum StockApache {
    private static let modules = ["mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "headers", "rewrite"]
    private static let proxyModules = ["proxy", "proxy_http"]

    /// Runs a closure, which receives the port, while Apache serves.
    static func with<Value>(_ directives: String, on station: Workstation, _ body: (Int) async throws -> Value) async throws -> Value {
        let program = try Program.path(of: "apache2")
        // Because Apache refuses port 0, random ports below the kernel's ephemeral range are tried until one is free.
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

    /// If root starts Apache, only the parent process reads and writes files, and the processes that serve requests run as `www-data`.
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
    /// Requires a password, with Basic authentication only.
    static let requiresPassword = """
        <Location "/">
            AuthType Basic
            AuthName "x"
            AuthUserFile /dev/null
            Require valid-user
        </Location>
        """

    /// Requires NTLM. Because Debian packages no NTLM module, Apache sends the challenge that such a module would send.
    static let requiresNTLM = """
        Header always set WWW-Authenticate NTLM
        RewriteRule ^ - [R=401,L]
        """

    /// A transparent proxy that forwards requests to a server only for clients that sign in to the proxy.
    ///
    /// Apache by itself sends 407 only to clients that use it as an explicit proxy.
    static func requiresProxySignIn(before port: Int) -> String {
        """
        Header always set Proxy-Authenticate "Basic realm=gate" "expr=%{REQUEST_STATUS} == 407"
        Header always set Via "1.1 gate" "expr=%{REQUEST_STATUS} == 407"
        RewriteCond %{HTTP:Proxy-Authorization} ^$
        RewriteRule ^ - [R=407,L]
        \(passes(to: port))
        """
    }

    /// A proxy that removes the server's challenges, as proxies do that do not support connection-based authentication.
    static func removesChallenges(before port: Int) -> String {
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
