internal import SystemSupport

/// Why libkrb5's TLS plugin (k5tls) refused the certificate of a KDC proxy (MS-KKDCP), from the line of its trace.
enum ProxyRefusal: Sendable, Hashable {
    /// The certificate is not trusted, or not valid. The text is OpenSSL's.
    case untrusted(String)
    /// The certificate is for other hosts than this one.
    case otherHost(String)

    /// Reads a line of the trace; nil if it is about something else.
    init?(trace line: String) {
        if let match = line.firstMatch(of: /TLS certificate error at \d+ \(.*\): \d+ \((.*)\)/) {
            self = .untrusted(String(match.1))
        } else if let match = line.firstMatch(of: /TLS certificate name mismatch: server certificate is not for "(.*)"/) {
            self = .otherHost(String(match.1))
        } else {
            return nil
        }
    }

    /// What happened and what to do.
    var sentence: String {
        switch self {
        case .untrusted(let reason):
            "the certificate of the KDC proxy is refused, so nothing was sent to it (\(reason.escapedForDisplay(limit: 200))). "
                + "Add its authority to those that this machine trusts, or name it in krb5.conf (http_anchors, in the section of the realm)."
        case .otherHost(let host):
            "the certificate of the KDC proxy is not for \(host.escapedForDisplay(limit: 200)), so nothing was sent to it. Correct the host in "
                + "preferredKDCs of the profile, or have the certificate replaced."
        }
    }
}
