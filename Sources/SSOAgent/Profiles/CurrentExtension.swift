internal import Foundation
internal import KCM
internal import Kerberos
package import KerberosEngine
internal import SSOAgentClient
internal import SignOnPolicy
internal import Synchronization

/// The active extension and its access policy. A change of the profiles replaces both: requests in progress finish with the old ones, and
/// later requests use the new ones. The tickets are in the caches and stay, and canceled prompts stay canceled.
package final class CurrentExtension: Sendable {
    /// An extension and its access policy, read once for each request so that they match.
    struct ServingState: Sendable {
        let kerberos: KerberosExtension
        let access: AccessPolicy
        /// Sent with each response of the API, so that clients detect a change.
        let version = String(UInt64.random(in: .min ... .max), radix: 36)

        /// Throws unless the peer belongs to the audience of an operation.
        func check(_ peer: PeerCredential, for audience: AgentOperation.Audience) throws(AgentProblem) {
            try access.check(peer, for: audience, in: kerberos.policy.configurations)
        }

        /// Returns the full name of the principal for a sign-in or a password change. Throws unless the lists of programs permit the peer
        /// to use that principal's realm, which may differ from the realm in the request, such as that of the first principal of a keytab.
        ///
        /// - Returns: The name and its realm; as given, including nil, if they cannot be resolved. Then every list must permit the peer.
        func signingIn(
            _ peer: PeerCredential,
            as name: String?,
            realm: String?,
            using source: InitialCredentialSource? = nil
        ) async throws(AgentProblem) -> (name: String?, realm: String?) {
            guard let principal = try? await kerberos.names.principal(signingIn: name, realm: realm, using: source) else {
                try check(peer, usesTicketsOf: nil)
                return (name, realm)
            }
            // The KDC chooses the realm of an enterprise name.
            try check(peer, usesTicketsOf: principal.isEnterpriseName ? nil : principal.realm)
            return (principal.description, principal.realm)
        }

        /// Throws unless the lists of programs permit the peer to use the tickets of a realm; nil means every realm.
        func check(_ peer: PeerCredential, usesTicketsOf realm: String?) throws(AgentProblem) {
            try access.check(peer, usesTicketsOf: realm, in: kerberos.policy.configurations)
        }
    }

    private let state: Mutex<ServingState>
    private let observers = Mutex<[@Sendable () -> Void]>([])

    /// - Parameters:
    ///   - initial: The first extension.
    ///   - access: Its access policy; nil means the policy of its configurations, with this user as the owner.
    package init(_ initial: KerberosExtension, access: AccessPolicy? = nil) {
        state = Mutex(ServingState(kerberos: initial, access: access ?? Self.access(to: initial)))
    }

    /// The active extension. Read it again for each request.
    package var value: KerberosExtension { state.withLock { $0.kerberos } }

    /// The active access policy.
    package var access: AccessPolicy { state.withLock { $0.access } }

    /// The active extension, its access policy and their version.
    var current: ServingState { state.withLock { $0 } }

    /// Replaces the extension. The access policy is that of its configurations unless one is given.
    package func replace(with successor: KerberosExtension, access: AccessPolicy? = nil) {
        successor.sharePrompts(with: value)
        let next = ServingState(kerberos: successor, access: access ?? Self.access(to: successor))
        state.withLock { $0 = next }
        for observer in observers.withLock({ $0 }) { observer() }
    }

    /// Adds a closure that is called after each replacement.
    func onReplacement(_ observer: @escaping @Sendable () -> Void) { observers.withLock { $0.append(observer) } }

    private static func access(to kerberos: KerberosExtension) -> AccessPolicy {
        AccessPolicy(owner: geteuid(), configurations: kerberos.policy.configurations)
    }
}
