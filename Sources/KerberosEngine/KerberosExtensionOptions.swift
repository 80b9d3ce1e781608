package import ActiveDirectory
package import Kerberos
package import SignOnPolicy

package import struct Foundation.Date

extension KerberosExtension {
    /// The configuration of an extension.
    package struct Options: Sendable {
        /// The active profiles.
        package var configurations: [ExtensionConfiguration]
        /// Which tickets answer challenges.
        package var credential: Credential
        /// The krb5.conf that supplies what the profiles do not set.
        package var base: RealmConfiguration.Base
        /// The default credential cache; nil uses `KRB5CCNAME`, krb5.conf or libkrb5's default.
        package var defaultCacheName: String?
        /// The cache with the FAST armor ticket for sign-ins and password changes; see `RealmConfiguration/armorCache`. Nil uses the one of
        /// the realm's profile.
        package var armorCache: CredentialCacheName?
        /// The client keytab, for ``Credential/keytab(_:principal:)`` with `clientKeytab` and for every sign-in with it; nil uses
        /// `KRB5_CLIENT_KTNAME`, krb5.conf or libkrb5's default.
        package var clientKeytabName: String?
        /// The socket of the agent that keeps the `KCM:` caches; nil uses krb5.conf's `kcm_socket`.
        package var cacheSocket: String?
        /// A file that remembers the Active Directory site of each network, so that the next process need not ask the domain; nil remembers
        /// it in this process only.
        package var siteCacheFile: String?
        /// How long to wait for the controllers of an Active Directory domain, each time they are asked for the site.
        package var controllerLimit = Duration.milliseconds(1500)
        /// How the directories of Active Directory domains are read. TLS is also used where the profile requires it.
        package var directory = DomainDirectory.Options()
        /// A private directory for the caches of further principals, used if the default cache can hold only one.
        package var additionalCacheDirectory: String?
        /// The user's name. It signs in if neither the caller nor the profile names a principal.
        package var userName: String?
        /// Returns the user's full name, no part of which may be in a complex password. Called only when a password is changed, because it
        /// may query a directory.
        package var displayName: @Sendable () async -> String?
        /// Asks for passwords and PINs when a request that allows it needs a sign-in.
        package var prompter: (any Prompter)?
        /// Called when such a request needs a sign-in and there is no prompter.
        package var promptUnavailable: @Sendable () -> Void
        /// The store of passwords for automatic sign-in; nil stores and uses none.
        package var secretStore: (any SecretStore)?
        /// Receives libkrb5's trace, line by line.
        package var trace: (@Sendable (String) -> Void)?
        /// Returns the current time.
        package var clock: @Sendable () -> Date
        /// Returns the seconds of a monotonic clock that also counts while the machine is suspended, so that changes of ``clock`` can be
        /// detected; nil disables the detection.
        package var uptime: (@Sendable () -> Double)?

        /// Which tickets answer challenges.
        package enum Credential: Sendable {
            /// The tickets of the signed-in principals, in the credential caches that all programs share.
            case sessions
            /// A service's own ticket from its keytab, kept in this process's memory and reacquired before it expires.
            case keytab(InitialCredentialSource, principal: String?)
        }

        /// Creates options for profiles. The defaults suit a machine with one user.
        package init(
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
            promptUnavailable: @escaping @Sendable () -> Void = {},
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
            self.promptUnavailable = promptUnavailable
            self.secretStore = secretStore
            self.trace = trace
            self.clock = clock ?? { Date() }
            // A clock that the caller supplies cannot be compared with the machine's monotonic clock.
            uptime = clock == nil ? ClockWatch.machineUptime : nil
        }
    }
}

extension KerberosExtension.Options {
    /// The source that stands for the client keytab.
    var clientKeytab: InitialCredentialSource { clientKeytabName.map { .keytab($0) } ?? .clientKeytab }

    /// The source, with the keytab of ``clientKeytabName`` in place of the client keytab.
    func naming(_ source: InitialCredentialSource) -> InitialCredentialSource {
        if case .clientKeytab = source { clientKeytab } else { source }
    }
}
