public import ExtensionProfile
public import Foundation
public import HTTPNegotiate
public import Kerberos
public import KerberosEngine
internal import SSOAgentClient
internal import SystemSupport

/// Signs in a user once for all requests to the hosts that the profile lists.
///
/// ```swift
/// let sso = try await SingleSignOn(.automatic)
/// let session = try await sso.signIn("alice", prompt: .terminal)
/// ```
///
/// It is a `CredentialExtension`: pass it to an HTTP client. Can be used from any number of tasks.
public final class SingleSignOn: CredentialExtension {
    /// The engine that answers the requests.
    let engine: KerberosExtension
    /// The warnings about profiles that were skipped, and about those that are active.
    public let warnings: [ProfileWarning]
    /// The active profiles.
    public let profiles: [Profile]

    /// Finds the profiles and creates the extension. Sends nothing to the network and reads no cache. Checks whether a running agent
    /// answers.
    ///
    /// - Throws: `ProfileError` if a named profile cannot be used; `AuthorizationError` if an agent is required and none is running
    ///   (`agentNotRunning`), if the agent does not answer (`timedOut`), or if it keeps the tickets and the socket of its caches is lost
    ///   (`agentUnavailable`); `CancellationError` if the task is canceled while it waits for that socket.
    public convenience init(_ source: Source = .automatic, settings: Settings = .init()) async throws {
        let environment = settings.environment
        // The call may query a directory service.
        let userName = if let name = environment["USER"] { name } else { await BlockingCall.run { NSUserName() } }
        switch source.kind {
        case .automatic(let paths, let needsAgent):
            let runtime = RuntimeDirectory(environment: environment)
            // A program that names a cache does not need the agent's.
            let usesAgent = settings.defaultCacheName == nil
            let cacheSocket = needsAgent || usesAgent ? try await runtime.findCacheSocket() : nil
            guard !needsAgent || cacheSocket != nil else {
                throw AuthorizationError(
                    .agentNotRunning,
                    "no agent is running in \(runtime.path). Start one with: ksso agent run --background"
                )
            }
            if cacheSocket != nil, usesAgent { try await runtime.checkCaches() }
            let found = try await ProfileSearch(explicitPaths: paths, environment: environment).load()
            let usedSocket = usesAgent ? cacheSocket : nil
            self.init(found, credential: .sessions, settings: settings, userName: userName, cacheSocket: usedSocket)
        case .inProcess(let profiles, let given):
            // A service uses tickets of its own; a caller that names a cache gets that one.
            let usesAgent = given.isSessions && settings.defaultCacheName == nil
            let cacheSocket = usesAgent ? RuntimeDirectory(environment: settings.environment).cacheSocket : nil
            let found = ProfileSearchResult(profiles: profiles)
            self.init(found, credential: given, settings: settings, userName: userName, cacheSocket: cacheSocket)
        }
    }

    /// Finds the profiles and creates the extension, as a process with another environment would.
    ///
    /// For tests with a realm of their own, which change no process-wide state:
    ///
    /// ```swift
    /// let sso = try await SingleSignOn(.inProcess(profile), environment: realm.environment)     // a TestRealm of KerberosTesting
    /// ```
    ///
    /// - Parameters:
    ///   - source: The source of profiles and tickets.
    ///   - environment: The environment; see ``Settings/init(environment:)``.
    /// - Throws: The errors of ``init(_:settings:)``.
    public convenience init(_ source: Source = .automatic, environment: [String: String]) async throws {
        try await self.init(source, settings: Settings(environment: environment))
    }

    /// - Parameter cacheSocket: Where the agent serves the caches to use; nil uses those of the settings.
    private init(
        _ found: ProfileSearchResult,
        credential: KerberosExtension.Options.Credential,
        settings: Settings,
        userName: String,
        cacheSocket: String?
    ) {
        profiles = found.profiles
        warnings = found.warnings
        let runtime = RuntimeDirectory(environment: settings.environment)
        var options = KerberosExtension.Options(
            configurations: found.configurations,
            credential: credential,
            base: settings.base,
            defaultCacheName: cacheSocket == nil ? settings.defaultCacheName : "KCM:",
            armorCache: settings.armorCache,
            cacheSocket: settings.cacheSocket ?? cacheSocket,
            additionalCacheDirectory: runtime.path + "/caches",
            userName: userName,
            // The call may query a directory service.
            displayName: { await BlockingCall.run { NSFullUserName() } },
            prompter: settings.prompter,
            promptUnavailable: settings.promptUnavailable,
            secretStore: settings.secretStore,
            trace: settings.trace
        )
        options.directory = settings.directory
        options.clientKeytabName = settings.clientKeytabName
        options.siteCacheFile = Self.siteCacheFile(settings.environment)
        if let seconds = settings.environment["KSSO_SITE_TIMEOUT"].flatMap(Double.init), seconds > 0, seconds <= 60 {
            options.controllerLimit = .seconds(seconds)
        }
        engine = KerberosExtension(options)
    }

    /// The user's file of sites, in the folder for data that can be lost (XDG Base Directory Specification); nil without a home.
    private static func siteCacheFile(_ environment: [String: String]) -> String? {
        let folder = environment["XDG_CACHE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        return (folder ?? environment["HOME"].map { "\($0)/.cache" }).map { "\($0)/ksso/sites.json" }
    }

    /// The decision for a URL, with every rule that was considered: what `ksso explain` prints. Uses neither the network nor a cache.
    public func decision(for url: URL) -> AuthorizationDecision { engine.decision(for: url) }

    /// The decision for an origin server or a proxy, with every rule that was considered. Uses neither the network nor a cache.
    public func decision(for url: URL, challenger: Challenger) -> AuthorizationDecision {
        engine.decision(for: url, challenger: challenger)
    }

    /// Answers a challenge with an `Authorization` header, or a proxy's with `Proxy-Authorization`; or signs in, refreshes or signs out,
    /// for the realm that covers the URL.
    ///
    /// Returns `notHandled`, with the reasons, for an unknown operation and for a URL that no rule covers. A sign-in prompts only if the
    /// request allows it and there is a prompter. A refresh and a sign-out never prompt, and a sign-out acquires no ticket.
    ///
    /// The token is bound to the request's `channelBindings` if the plan requires it and the scheme is https. If the plan delegates, GSSAPI
    /// requests a ticket to forward. It finds the KDC through the krb5.conf of this process (`KRB5_CONFIG`, else /etc/krb5.conf) or DNS,
    /// and ignores the profile. It is no error if the server gets no ticket: `isDelegated` of the grant's exchange reports it, and
    /// ``explanation(for:challenger:)`` states the reason.
    ///
    /// - Throws: `AuthorizationError`; `notSignedIn` if no one is signed in, `notInteractive` if a ticket cannot be refreshed without a
    ///   person, `kdcUnreachable`, or `failed` with the cause.
    public func beginAuthorization(with request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationOutcome {
        try await engine.beginAuthorization(with: request)
    }

    /// The identity that would answer a request. Finds or acquires the session and the service ticket as for a token, but creates no token.
    /// Returns nil for a URL that no rule covers and for an operation that sends no token.
    ///
    /// - Throws: `AuthorizationError`, as ``beginAuthorization(with:)`` does.
    public func identity(for request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationIdentity? {
        try await engine.identity(for: request)
    }

    /// Creates a grant from a cached service ticket, on the caller's thread, in about a tenth of a millisecond. Returns nil if the session
    /// or the ticket would have to be looked up, if the user's own ticket may be delegated, because that asks the KDC, and for a URL that
    /// no rule covers.
    public func readyGrant(for request: AuthorizationRequest) async -> AuthorizationGrant? { await engine.readyGrant(for: request) }
}

extension SingleSignOn {
    /// The source of profiles and tickets.
    public struct Source: Sendable {
        enum Kind {
            case automatic([String], needsAgent: Bool)
            case inProcess([Profile], KerberosExtension.Options.Credential)
        }
        let kind: Kind

        /// The system-wide and the user's profiles, and the tickets in the credential caches that all programs share: those of the user's
        /// agent if one is running, else the default ones.
        public static let automatic = automatic(profiles: [])

        /// These profile files instead of the system-wide and the user's profiles.
        public static func automatic(profiles paths: [String]) -> Source { Source(kind: .automatic(paths, needsAgent: false)) }

        /// Like ``automatic``, but requires an agent: without one, throws `AuthorizationError` with the code `agentNotRunning`.
        public static let agent = Source(kind: .automatic([], needsAgent: true))

        /// One profile in this process. With a keytab, the tickets are the service's own, kept in memory and reacquired before they expire.
        public static func inProcess(_ profile: Profile, credential: ServiceCredential = .sessions) -> Source {
            .inProcess([profile], credential: credential)
        }

        /// Several profiles in this process.
        public static func inProcess(_ profiles: [Profile], credential: ServiceCredential = .sessions) -> Source {
            Source(kind: .inProcess(profiles, credential.value))
        }
    }

    /// Which tickets answer challenges.
    public struct ServiceCredential: Sendable {
        let value: KerberosExtension.Options.Credential

        /// The tickets of the signed-in principals, in the credential caches that all programs share.
        public static let sessions = ServiceCredential(value: .sessions)

        /// A service's own ticket from a keytab. Without a principal, the keytab's first one is used.
        public static func keytab(_ path: String, principal: String? = nil) -> ServiceCredential {
            ServiceCredential(value: .keytab(.keytab(path), principal: principal))
        }

        /// A service's own ticket from the keytab that `KRB5_CLIENT_KTNAME` or krb5.conf names.
        public static let clientKeytab = ServiceCredential(value: .keytab(.clientKeytab, principal: nil))
    }

    /// Settings for what the profiles do not define. The defaults are those of the machine.
    public struct Settings: Sendable {
        /// The krb5.conf that supplies what the profiles do not set.
        public var base: RealmConfiguration.Base = .system
        /// The default credential cache; nil uses `KRB5CCNAME`, krb5.conf or libkrb5's default.
        public var defaultCacheName: String?
        /// The socket of the KCM caches; nil uses the agent's if one is running, else krb5.conf's.
        package var cacheSocket: String?
        /// The cache with the FAST armor ticket for sign-ins and password changes; see `RealmConfiguration/armorCache`.
        public var armorCache: CredentialCacheName?
        /// The client keytab: that of ``ServiceCredential/clientKeytab``, of a sign-in with `clientKeytab`, and of the sign-in without a
        /// person if no one is signed in. Nil is the one that `KRB5_CLIENT_KTNAME` or krb5.conf names.
        public var clientKeytabName: String?
        /// The environment with variables such as `KSSO_PROFILE` and `XDG_RUNTIME_DIR`.
        public var environment: [String: String] = ProcessInfo.processInfo.environment
        /// Asks for passwords and PINs when a request that allows it needs a sign-in.
        public var prompter: (any Prompter)?
        /// Called when such a request needs a sign-in and there is no prompter.
        public var promptUnavailable: @Sendable () -> Void = {}
        /// The store of passwords for automatic sign-in, such as `KerberosEngine/SecretStore/automatic`; nil stores and uses none.
        public var secretStore: (any SecretStore)?
        /// How the directories of Active Directory domains are read; see ``readAccount(of:)``.
        public var directory = DomainDirectory.Options()
        /// Receives libkrb5's trace, line by line.
        public var trace: (@Sendable (String) -> Void)?

        /// Creates settings with the machine's defaults.
        public init() {}

        /// Creates settings in which `KRB5_CONFIG`, `KRB5CCNAME` and `KRB5_CLIENT_KTNAME` replace those of this process, and the variables
        /// of ``environment`` name profiles and directories.
        ///
        /// If one of the three is missing, libkrb5 uses that of this process. To set ``environment`` alone changes none of ``base``,
        /// ``defaultCacheName`` and ``clientKeytabName``.
        public init(environment: [String: String]) {
            self.environment = environment
            let files = (environment["KRB5_CONFIG"] ?? "").split(separator: ":").map(String.init)
            if !files.isEmpty { base = .files(files) }
            if let name = environment["KRB5CCNAME"], !name.isEmpty { defaultCacheName = name }
            if let name = environment["KRB5_CLIENT_KTNAME"], !name.isEmpty { clientKeytabName = name }
        }
    }
}
