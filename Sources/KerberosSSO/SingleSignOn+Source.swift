public import ExtensionProfile
internal import Foundation
public import Kerberos
public import KerberosEngine

extension SingleSignOn {
    /// Where profiles and tickets come from.
    public struct Source: Sendable {
        enum Kind {
            case automatic([String], needsAgent: Bool)
            case inProcess([Profile], KerberosExtension.Options.Credential)
        }
        let kind: Kind

        /// The machine's and the user's profiles, and the tickets of the credential caches that all programs share: those of the user's
        /// agent while one runs, else the default ones.
        public static let automatic = automatic(profiles: [])

        /// These profile files instead of those of the machine and the user.
        public static func automatic(profiles paths: [String]) -> Source { Source(kind: .automatic(paths, needsAgent: false)) }

        /// The same, and only with an agent: without one, `AuthorizationError` with the code `agentNotRunning`.
        public static let agent = Source(kind: .automatic([], needsAgent: true))

        /// One profile in this process; with a keytab the tickets are the service's own, in memory, acquired again before they expire.
        public static func inProcess(_ profile: Profile, credential: ServiceCredential = .sessions) -> Source {
            .inProcess([profile], credential: credential)
        }

        /// Several profiles in this process.
        public static func inProcess(_ profiles: [Profile], credential: ServiceCredential = .sessions) -> Source {
            Source(kind: .inProcess(profiles, credential.value))
        }
    }

    /// Whose tickets answer.
    public struct ServiceCredential: Sendable {
        let value: KerberosExtension.Options.Credential

        /// Those of the signed-in principals, in the credential caches that all programs share.
        public static let sessions = ServiceCredential(value: .sessions)

        /// A service's, from a keytab. With no principal the keytab's first one.
        public static func keytab(_ path: String, principal: String? = nil) -> ServiceCredential {
            ServiceCredential(value: .keytab(.keytab(path), principal: principal))
        }

        /// A service's, from the keytab that `KRB5_CLIENT_KTNAME` or krb5.conf names.
        public static let clientKeytab = ServiceCredential(value: .keytab(.clientKeytab, principal: nil))
    }

    /// What stands behind the profiles; the defaults are the machine's.
    public struct Settings: Sendable {
        /// The krb5.conf behind the profiles.
        public var base: RealmConfiguration.Base = .system
        /// The default credential cache; nil is what `KRB5CCNAME`, krb5.conf or the library say.
        public var defaultCacheName: String?
        /// The socket of the caches of the type KCM; nil is the agent's while one runs, else what krb5.conf says.
        package var cacheSocket: String?
        /// The cache of a ticket that protects sign-ins and changes of passwords; see `RealmConfiguration/armorCache`.
        public var armorCache: CredentialCacheName?
        /// Where variables such as `KSSO_PROFILE` and `XDG_RUNTIME_DIR` are read.
        public var environment: [String: String] = ProcessInfo.processInfo.environment
        /// Who is asked when a request that may ask finds nobody signed in.
        public var prompter: (any Prompter)?
        /// Called when such a request finds nobody signed in, and there is no prompter.
        public var nobodyToAsk: @Sendable () -> Void = {}
        /// Where passwords are kept that sign in by themselves, such as `KerberosEngine/SecretStore/automatic`; nil keeps and uses none.
        public var secretStore: (any SecretStore)?
        /// Gets libkrb5's trace, line by line.
        public var trace: (@Sendable (String) -> Void)?

        /// The machine's own settings.
        public init() {}
    }
}
