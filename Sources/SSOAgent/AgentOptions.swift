package import ExtensionProfile
internal import KCM
package import KerberosEngine
package import SSOAgentClient

/// What an agent works with.
package struct AgentOptions: Sendable {
    /// Whose tickets these are.
    package enum Mode: String, Sendable {
        /// The agent's own: it is the default cache of every program that it, or the session's set-up, is known to.
        case agent
        /// Those of the system's default cache, where kinit, sssd or a login through PAM put them. The agent serves and renews them.
        case system
    }

    /// A key that signs in where nobody is asked.
    package struct Keytab: Sendable {
        /// The file.
        package var path: String
        /// Whose key; nil is the file's first one.
        package var principal: String?

        package init(path: String, principal: String? = nil) {
            self.path = path
            self.principal = principal
        }
    }

    /// Where the sockets, the lock and krb5.conf are.
    package var runtime: RuntimeDirectory
    package var mode = Mode.agent
    /// Where the tickets are; nil is a folder of the runtime directory, which the machine forgets when it stops.
    package var ticketDirectory: String?
    /// How many credential caches there may be.
    package var maximumCaches = AgentOptions.defaultCaches
    /// How long nobody must need the agent before it ends; nil lets it run.
    package var idleExit: Duration?
    /// Signs in at the start, and again where a renewal does not help.
    package var keytab: Keytab?
    /// Runs the administrator's program for an event of a session, and returns what was wrong with it; nil runs none.
    package var runProgram: (@Sendable (SessionEvent) async -> String?)?
    /// How long a cache is kept whose tickets can neither be used nor renewed; nil keeps it.
    package var expiredCachePeriod: Duration? = .seconds(7 * 86_400)
    /// The krb5.conf files of the machine, without the agent's own: they name the default cache whose tickets are copied at the start.
    package var systemConfiguration: [String] = []
    /// Variables of systemd.
    package var environment: [String: String] = [:]
    /// Where the profiles are.
    package var search: ProfileSearch
    /// Makes the extension of these profiles, whose caches are at a socket; nil is what krb5.conf says.
    package var makeExtension: @Sendable (_ profiles: [Profile], _ cacheSocket: String?) async throws -> KerberosExtension
    /// How long a profile that is gone, or broken, may be being replaced, before it counts.
    package var settling = Duration.seconds(1)
    /// How long a realm must be without a profile before its sessions end.
    package var removalGrace = Duration.seconds(10)
    /// What an administrator should read: a line each.
    package var log: @Sendable (String) -> Void
    /// Why nobody can be asked for a password, a line each, and nil when somebody was again; read by one agent.
    package var promptFaults: AsyncStream<String?>?
    /// The file that those lines go to, if it is one.
    package var logFile: String?

    package init(
        runtime: RuntimeDirectory,
        search: ProfileSearch,
        makeExtension: @escaping @Sendable (_ profiles: [Profile], _ cacheSocket: String?) async throws -> KerberosExtension,
        log: @escaping @Sendable (String) -> Void
    ) {
        self.runtime = runtime
        self.search = search
        self.makeExtension = makeExtension
        self.log = log
    }

    /// How many credential caches there may be unless something else is said.
    package static let defaultCaches = StoreLimits.defaultCaches

    var tickets: String { ticketDirectory ?? runtime.path + "/tickets" }
}

/// Why the agent can't run.
package struct AgentError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of failure it was.
    package struct Code: RawRepresentable, Sendable, Hashable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// Another agent of the same runtime folder is at work.
        package static let alreadyRunning = Code(rawValue: "alreadyRunning")
        /// The runtime folder can't be made or written, or is open to others.
        package static let directoryUnusable = Code(rawValue: "directoryUnusable")
        /// What systemd handed over are not the agent's sockets.
        package static let unknownSocket = Code(rawValue: "unknownSocket")
    }

    /// What kind of failure it was.
    package let code: Code
    /// A sentence that says what failed and what to do.
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
