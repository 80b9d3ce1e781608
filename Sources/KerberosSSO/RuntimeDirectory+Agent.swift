internal import HTTPNegotiate
internal import Kerberos
internal import KerberosEngine
package import SSOAgentClient
internal import UnixSystem

extension RuntimeDirectory {
    /// Where an agent keeps the tickets, if one does; never in a folder that others can write to.
    package var cacheSocket: String? { PrivateDirectory(path: path).isTrusted && servesCaches ? kcmSocket : nil }

    /// Sees that the agent whose caches are about to be used answers: libkrb5 would wait for it without a limit.
    func checkCaches() async throws(AuthorizationError) {
        guard let listener = await BlockingCall.run({ silentListener(at: .caches) }) else { return }
        throw AuthorizationError(.timedOut, listener.silence)
    }
}

extension KerberosExtension.Options.Credential {
    /// Whether they are those of people who have signed in.
    var isSessions: Bool { if case .sessions = self { true } else { false } }
}
