public import ExtensionProfile
public import Foundation
public import HTTPNegotiate
public import Kerberos
public import KerberosEngine
internal import SSOAgentClient

/// Sign in once; every request to the hosts that the profile names is signed in.
///
/// ```swift
/// let sso = try await SingleSignOn(.automatic)
/// let session = try await sso.signIn("alice", prompt: .terminal)
/// ```
///
/// It is a `CredentialExtension`: give it to an HTTP client. Safe to use from any number of tasks.
public final class SingleSignOn: CredentialExtension {
    /// The extension that does the work.
    public let kerberos: KerberosExtension
    /// Profiles that were left out, and why.
    public let warnings: [ProfileWarning]
    /// The profiles in force.
    public let profiles: [Profile]
    /// Finds the profiles and makes the extension. Nothing is sent; no cache is read. An agent that runs is asked whether it answers.
    ///
    /// - Throws: `ProfileError` when a profile that was named can't be used; `AuthorizationError` when an agent is wanted and none runs, or
    ///   one does not answer (`timedOut`), or keeps the tickets and the socket of its caches is lost (`agentUnavailable`).
    public convenience init(_ source: Source = .automatic, settings: Settings = .init()) async throws {
        let environment = settings.environment
        switch source.kind {
        case .automatic(let paths, let needsAgent):
            let runtime = RuntimeDirectory(environment: environment)
            // A program that names a cache does not need the agent's.
            let usesAgent = settings.defaultCacheName == nil
            let cacheSocket = needsAgent || usesAgent ? try await runtime.findCacheSocket() : nil
            guard !needsAgent || cacheSocket != nil else {
                throw AuthorizationError(.agentNotRunning, "no agent runs in \(runtime.path). Start one with: ksso agent run --background")
            }
            if cacheSocket != nil, usesAgent { try await runtime.checkCaches() }
            let found = try await ProfileSearch(explicitPaths: paths, environment: environment).runAside()
            self.init(found, credential: .sessions, settings: settings, cacheSocket: usesAgent ? cacheSocket : nil)
        case .inProcess(let profiles, let credential):
            // A service's tickets are its own; whoever names a cache gets that one.
            let usesAgent = credential.isSessions && settings.defaultCacheName == nil
            let cacheSocket = usesAgent ? RuntimeDirectory(environment: settings.environment).cacheSocket : nil
            self.init(ProfileSearchResult(profiles: profiles), credential: credential, settings: settings, cacheSocket: cacheSocket)
        }
    }

    /// - Parameter cacheSocket: Where the agent serves the caches to use; nil uses those of the settings.
    private init(
        _ found: ProfileSearchResult,
        credential: KerberosExtension.Options.Credential,
        settings: Settings,
        cacheSocket: String?
    ) {
        profiles = found.profiles
        warnings = found.warnings
        let runtime = RuntimeDirectory(environment: settings.environment)
        kerberos = KerberosExtension(
            KerberosExtension.Options(
                configurations: found.configurations,
                credential: credential,
                base: settings.base,
                defaultCacheName: cacheSocket == nil ? settings.defaultCacheName : "KCM:",
                armorCache: settings.armorCache,
                cacheSocket: settings.cacheSocket ?? cacheSocket,
                additionalCacheDirectory: runtime.path + "/caches",
                userName: settings.environment["USER"] ?? NSUserName(),
                // A directory may be asked.
                displayName: { await BlockingCall.run { NSFullUserName() } },
                prompter: settings.prompter,
                nobodyToAsk: settings.nobodyToAsk,
                secretStore: settings.secretStore,
                trace: settings.trace
            )
        )
    }

    /// The verdict for a URL, with every rule considered: what `ksso explain` prints. No network, no cache.
    public func decision(for url: URL) -> AuthorizationDecision { kerberos.decision(for: url) }

    /// Answers a challenge; see `KerberosExtension/beginAuthorization(with:)`.
    public func beginAuthorization(with request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationOutcome {
        try await kerberos.beginAuthorization(with: request)
    }

    /// Who would answer a request now; see `KerberosExtension/identity(for:)`.
    public func identity(for request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationIdentity? {
        try await kerberos.identity(for: request)
    }

    /// A grant from a ticket that is at hand; see `KerberosExtension/readyGrant(for:)`.
    public func readyGrant(for request: AuthorizationRequest) async -> AuthorizationGrant? { await kerberos.readyGrant(for: request) }
}

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
