public import HTTPNegotiate
public import Kerberos

public import struct Foundation.Date

extension KerberosExtension {
    /// What an extension works with.
    public struct Options: Sendable {
        /// The profiles in force.
        public var configurations: [ExtensionConfiguration]
        /// Whose tickets answer.
        public var credential: Credential
        /// The krb5.conf that stands behind the profiles.
        public var base: RealmConfiguration.Base
        /// The default credential cache; nil is what `KRB5CCNAME`, krb5.conf or the library say.
        public var defaultCacheName: String?
        /// The cache of a ticket that protects sign-ins and changes of passwords; see `RealmConfiguration/armorCache`. Nil is
        /// what a realm's profile says.
        public var armorCache: CredentialCacheName?
        /// Where an agent keeps the caches whose names begin with `KCM:`; nil is what krb5.conf says (`kcm_socket`).
        public var cacheSocket: String?
        /// A private folder for the caches of further principals, where the default cache can hold but one.
        public var additionalCacheDirectory: String?
        /// Who signs in where neither the caller nor the profile names anybody.
        public var userName: String?
        /// Finds that person's own name, no part of which belongs into a complex password. Called when one is changed alone, since it may
        /// ask a directory.
        public var displayName: @Sendable () async -> String?
        /// Who is asked when a request that may ask finds nobody signed in.
        public var prompter: (any Prompter)?
        /// Called when such a request finds nobody signed in, and there is no prompter.
        public var nobodyToAsk: @Sendable () -> Void
        /// Where passwords are kept that sign in by themselves; nil keeps and uses none.
        public var secretStore: (any SecretStore)?
        /// Gets libkrb5's trace, line by line.
        public var trace: (@Sendable (String) -> Void)?
        /// What time it is.
        public var clock: @Sendable () -> Date
        /// Seconds by a clock that is never set and counts the time that the machine sleeps, so that a change of ``clock`` is noticed; nil
        /// where it is not looked for.
        package var uptime: (@Sendable () -> Double)?

        /// Whose tickets answer.
        public enum Credential: Sendable {
            /// Those of the signed-in principals, in the credential caches that all programs share.
            case sessions
            /// A service's own, from its keytab, kept in this process's memory and acquired again before they expire.
            case keytab(InitialCredentialSource, principal: String?)
        }

        /// Options for profiles; the rest is as on a machine of one user.
        public init(
            configurations: [ExtensionConfiguration],
            credential: Credential = .sessions,
            base: RealmConfiguration.Base = .system,
            defaultCacheName: String? = nil,
            armorCache: CredentialCacheName? = nil,
            cacheSocket: String? = nil,
            additionalCacheDirectory: String? = nil,
            userName: String? = nil,
            displayName: @escaping @Sendable () async -> String? = { nil },
            prompter: (any Prompter)? = nil,
            nobodyToAsk: @escaping @Sendable () -> Void = {},
            secretStore: (any SecretStore)? = nil,
            trace: (@Sendable (String) -> Void)? = nil,
            clock: (@Sendable () -> Date)? = nil
        ) {
            self.configurations = configurations
            self.credential = credential
            self.base = base
            self.defaultCacheName = defaultCacheName
            self.armorCache = armorCache
            self.cacheSocket = cacheSocket
            self.additionalCacheDirectory = additionalCacheDirectory
            self.userName = userName
            self.displayName = displayName
            self.prompter = prompter
            self.nobodyToAsk = nobodyToAsk
            self.secretStore = secretStore
            self.trace = trace
            self.clock = clock ?? { Date() }
            // A clock of the caller's own says nothing of the machine's.
            uptime = clock == nil ? ClockWatch.machineUptime : nil
        }
    }
}
