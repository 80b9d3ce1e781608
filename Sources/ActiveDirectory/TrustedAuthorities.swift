internal import Foundation

/// The file of certificates of authorities that controllers' certificates are checked with.
///
/// libldap also reads a file in the current folder, which another user may have written. So the file to use is set explicitly.
enum TrustedAuthorities {
    private static let configurations = ["/etc/ldap/ldap.conf", "/etc/openldap/ldap.conf"]
    private static let system = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"]

    /// The given file, else the one of the environment, of the machine's ldap.conf, or of the system.
    static func path(_ given: String?, environment: [String: String] = ProcessInfo.processInfo.environment) -> String {
        if let given { return given }
        if let named = environment["LDAPTLS_CACERT"], !named.isEmpty { return named }
        for path in configurations {
            if let text = try? String(contentsOfFile: path, encoding: .utf8), let named = named(in: text) { return named }
        }
        return system.first(where: FileManager.default.fileExists) ?? system[0]
    }

    /// The value of `TLS_CACERT` in an ldap.conf; the last one counts.
    static func named(in text: String) -> String? {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.split(maxSplits: 1, whereSeparator: \.isWhitespace) }
        let values = lines.filter { $0.count == 2 && $0[0].uppercased() == "TLS_CACERT" }.map { $0[1].trimmingCharacters(in: .whitespaces) }
        return values.last { !$0.isEmpty }
    }
}
