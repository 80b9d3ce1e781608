/// A program that may use the agent's tickets: one entry of `credentialBundleIdACL` in the form that Linux has for it.
public enum CredentialCaller: Sendable, Hashable {
    /// The program of this file: `/usr/bin/curl`.
    case executable(String)
    /// Every program below this folder: `/opt/app/`.
    case folder(String)
    /// What runs in this systemd unit: `unit:backup.service`.
    case unit(String)

    /// Reads an entry; nil for one of another form, such as a Mac's bundle identifier.
    public init?(_ text: String) {
        if text.hasPrefix("/") {
            self = text.hasSuffix("/") ? .folder(text) : .executable(text)
        } else if text.hasPrefix("unit:") {
            self = .unit(String(text.dropFirst("unit:".count)))
        } else {
            return nil
        }
    }

    /// Whether a process is meant, by its program's file and its innermost systemd unit.
    public func matches(executable: String?, unit: String?) -> Bool {
        switch self {
        case .executable(let path): executable == path
        case .folder(let path): executable?.hasPrefix(path) == true
        case .unit(let name): unit == name
        }
    }

    /// The stock programs that `includeKerberosAppsInBundleIdACL` means, MIT's and Heimdal's.
    public static let kerberosTools: [CredentialCaller] = [
        "kinit", "klist", "kdestroy", "kswitch", "kvno", "kpasswd", "ktutil", "ksu", "kinit.heimdal", "kinit.mit", "klist.heimdal",
        "kdestroy.heimdal", "kswitch.heimdal", "kgetcred", "kpasswd.heimdal", "heimtools",
    ].flatMap { name in [.executable("/usr/bin/\(name)"), .executable("/usr/local/bin/\(name)")] }
}

extension CredentialCaller: CustomStringConvertible {
    /// As a profile writes it.
    public var description: String {
        switch self {
        case .executable(let path), .folder(let path): path
        case .unit(let name): "unit:\(name)"
        }
    }
}
