internal import Foundation
internal import HTTPNegotiate
internal import KCM
internal import Kerberos
package import KerberosEngine
internal import SSOAgentClient
internal import Synchronization

/// The extension that is in office, and who may use it. Other profiles need another one: whoever asked the old one gets its answer from
/// it, and what comes later goes to the new one. The tickets are in the caches and stay.
package final class CurrentExtension: Sendable {
    /// What belongs together: ask for it once for each request.
    struct Office: Sendable {
        let kerberos: KerberosExtension
        let access: AccessPolicy
        /// Sent with each response of the API, so that clients learn of a change.
        let version = String(UInt64.random(in: .min ... .max), radix: 36)

        /// Throws unless the peer is one of those whom an operation is for.
        func check(_ peer: PeerCredential, for audience: AgentOperation.Audience) throws(AgentProblem) {
            try access.check(peer, for: audience, in: kerberos.policy.configurations)
        }

        /// The full name of the principal that signs in, or changes its password. Throws unless the lists of programs let the peer do it:
        /// the realm that a request names need not be the one of the principal that it is resolved to, such as the first one of a keytab.
        ///
        /// - Returns: The name as it was given, nil included, if it can't be resolved; every list permits the peer then.
        func signingIn(
            _ peer: PeerCredential,
            as name: String?,
            realm: String?,
            using source: InitialCredentialSource? = nil
        ) async throws(AgentProblem) -> String? {
            guard let principal = try? await kerberos.principal(signingIn: name, realm: realm, using: source) else {
                try check(peer, usesTicketsOf: nil)
                return name
            }
            try check(peer, usesTicketsOf: principal.realm)
            return principal.description
        }

        /// Throws unless the lists of programs let the peer have tickets of a realm fetched; nil is every realm.
        func check(_ peer: PeerCredential, usesTicketsOf realm: String?) throws(AgentProblem) {
            try access.check(peer, usesTicketsOf: realm, in: kerberos.policy.configurations)
        }
    }

    private let office: Mutex<Office>
    private let observers = Mutex<[@Sendable () -> Void]>([])

    /// - Parameters:
    ///   - initial: The first one.
    ///   - access: Who may use it; nil: this user, and whom its configurations name.
    package init(_ initial: KerberosExtension, access: AccessPolicy? = nil) {
        office = Mutex(Office(kerberos: initial, access: access ?? Self.access(to: initial)))
    }

    /// The extension to ask now. Ask for it anew for each request.
    package var value: KerberosExtension { office.withLock { $0.kerberos } }

    /// Who may do what now.
    package var access: AccessPolicy { office.withLock { $0.access } }

    /// Both, and which they are.
    var current: Office { office.withLock { $0 } }

    /// Puts another one in its place; who may use it goes by its configurations, unless that is given.
    package func replace(with successor: KerberosExtension, access: AccessPolicy? = nil) {
        let next = Office(kerberos: successor, access: access ?? Self.access(to: successor))
        office.withLock { $0 = next }
        for observer in observers.withLock({ $0 }) { observer() }
    }

    /// Has this called each time after another one was put in its place.
    func onReplacement(_ observer: @escaping @Sendable () -> Void) { observers.withLock { $0.append(observer) } }

    private static func access(to kerberos: KerberosExtension) -> AccessPolicy {
        AccessPolicy(owner: geteuid(), configurations: kerberos.policy.configurations)
    }
}
