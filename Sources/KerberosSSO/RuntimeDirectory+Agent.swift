internal import KerberosEngine
package import SSOAgentClient
internal import UnixSystem

extension RuntimeDirectory {
    /// Where an agent keeps the tickets, if one does; never in a folder that others can write to.
    package var cacheSocket: String? { PrivateDirectory(path: path).isTrusted && servesCaches ? kcmSocket : nil }
}

extension KerberosExtension.Options.Credential {
    /// Whether they are those of people who have signed in.
    var isSessions: Bool { if case .sessions = self { true } else { false } }
}
