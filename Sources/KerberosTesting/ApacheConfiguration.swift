import Foundation

/// The files of a test web server's folder.
struct ApacheConfiguration {
    static let modules = "/usr/lib/apache2/modules"

    let realm: TestRealm
    let options: ProtectedWebServerOptions
    let directory: String

    var path: String { "\(directory)/httpd.conf" }
    var keytabPath: String { "\(directory)/http.keytab" }

    /// Where mod_auth_gssapi puts the tickets that users forward.
    static func delegationFolder(in directory: String) -> String { "\(directory)/delegated" }

    /// Undoes how mod_auth_gssapi names a cache after a principal: `~` for a slash, and `~~` for itself.
    static func principal(ofCache name: String) -> String {
        name.split(separator: "~~", omittingEmptySubsequences: false).map { $0.replacing("~", with: "/") }.joined(separator: "~")
    }

    /// Copies of the realm's files, since the server's account cannot enter the realm's folder.
    func environment() throws -> [String: String] {
        let clock = try options.clockOffset.map(ClockLibrary.environment) ?? [:]
        return realm.environment.merging(clock) { $1 }.merging([
            "KRB5_CONFIG": "\(directory)/krb5.conf",
            "KRB5_KTNAME": "FILE:\(keytabPath)",
            "KRB5_CLIENT_KTNAME": "FILE:\(directory)/client.keytab",
            "KRB5CCNAME": "FILE:\(directory)/ccache",
            "KRB5RCACHENAME": options.usesReplayCache ? "dfl:" : "none:",
            "KRB5RCACHEDIR": directory,
        ]) { $1 }
    }

    /// Refuses what Apache would take for something else, or would not start with.
    func check() throws {
        try ListeningAddress.checkName(options.host, of: realm.address)
        guard options.usesTLS || !options.usesHTTP2 else {
            throw KerberosTestingError(.invalidArgument, "HTTP/2 is offered in TLS only; set usesTLS too.")
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
                    "\(path) cannot redirect with \(redirect.status) to \(redirect.target): the path begins with a slash, the status is from "
                        + "300 to 399, and neither path nor target has a space, a quotation mark, a backslash, a dollar sign or %{."
                )
            }
        }
    }

    /// Whether Apache reads the text as it is in a quoted string of an expression.
    private static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && !text.contains("%{") && !text.contains { $0.isWhitespace || $0.isNewline || "\"'\\$".contains($0) }
    }

    /// Writes everything but the port.
    func writeFiles() async throws {
        let files = FileManager.default
        try files.copyItem(atPath: realm.configurationPath, toPath: "\(directory)/krb5.conf")
        try files.moveItem(atPath: try await keytab(), toPath: keytabPath)
        try files.createDirectory(atPath: "\(directory)/pages", withIntermediateDirectories: false)
        for (page, greeting) in [("hello", "Hello"), ("other", "Other")] {
            try "\(greeting) <!--#echo encoding=\"none\" var=\"REMOTE_USER\" -->\n".writeFile("\(directory)/pages/\(page)")
        }
        try "open\n".writeFile("\(directory)/pages/open")
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

    private func keytab() async throws -> String {
        do {
            return try await realm.keytab(for: options.servicePrincipal)
        } catch let error as KerberosTestingError where error.code == .commandFailed {
            try await realm.addService(options.servicePrincipal)
            return try await realm.keytab(for: options.servicePrincipal)
        }
    }
}
