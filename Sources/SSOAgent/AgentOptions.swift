package import ExtensionProfile
internal import KCM
package import KerberosEngine
package import SSOAgentClient

/// The configuration of an agent.
package struct AgentOptions: Sendable {
    /// Where the tickets are stored.
    package enum Mode: String, Sendable {
        /// In the agent's own caches. They are the default cache of every program whose krb5.conf names the agent's socket.
        case agent
        /// In the system's default cache, where kinit, sssd or a login through PAM puts them. The agent serves and renews them.
        case system
    }

    /// A keytab for a sign-in without a user.
    package struct Keytab: Sendable {
        /// The path of the file.
        package var path: String
        /// The principal; nil means the first one in the file.
        package var principal: String?

        package init(path: String, principal: String? = nil) {
            self.path = path
            self.principal = principal
        }
    }

    /// The directory of the sockets, the lock and krb5.conf.
    package var runtime: RuntimeDirectory
    package var mode = Mode.agent
    /// The directory of the tickets; nil means a folder in the runtime directory, whose content is lost when the machine stops.
    package var ticketDirectory: String?
    /// The maximum number of credential caches.
    package var maximumCaches = AgentOptions.defaultCaches
    /// The idle time after which the agent exits; nil means never.
    package var idleExit: Duration?
    /// The keytab for the sign-in at the start, and for signing in again when the ticket cannot be renewed.
    package var keytab: Keytab?
    /// Runs the administrator's program for a session event and returns a description of its failure, or nil; nil runs no program.
    package var runProgram: (@Sendable (SessionEvent) async -> String?)?
    /// How long a cache is kept after its tickets can neither be used nor renewed; nil keeps it.
    package var expiredCachePeriod: Duration? = .seconds(7 * 86_400)
    /// The system's krb5.conf files, without the agent's own. They name the default cache whose tickets are imported at the start.
    package var systemConfiguration: [String] = []
    /// The environment, for the variables of systemd.
    package var environment: [String: String] = [:]
    /// Where to search for profiles.
    package var search: ProfileSearch
    /// Creates the extension for these profiles. Its caches are at `cacheSocket`; nil means the default cache of krb5.conf.
    package var makeExtension: @Sendable (_ profiles: [Profile], _ cacheSocket: String?) async throws -> KerberosExtension
    /// How long the agent waits before it accepts that a profile is missing or broken, because it may be about to be replaced.
    package var settling = Duration.seconds(1)
    /// How long no profile may name a realm before the realm's sessions end.
    package var removalGrace = Duration.seconds(10)
    /// Receives the log messages for the administrator, one line each.
    package var log: @Sendable (String) -> Void
    /// Yields why the user cannot be prompted for a password, and nil when prompting works again. Only one agent may iterate it.
    package var promptFaults: AsyncStream<String?>?
    /// The path of the file that `log` writes to, if it is a file.
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

    /// The default maximum number of credential caches.
    package static let defaultCaches = StoreLimits.defaultCaches

    var tickets: String { ticketDirectory ?? runtime.path + "/tickets" }
}

/// Why the agent cannot run.
package struct AgentError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    package struct Code: RawRepresentable, Sendable, Hashable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// Another agent runs with the same runtime directory.
        package static let alreadyRunning = Code(rawValue: "alreadyRunning")
        /// The runtime directory cannot be created or written, or other users can write to it.
        package static let directoryUnusable = Code(rawValue: "directoryUnusable")
        /// systemd passed a socket that is not one of the agent's.
        package static let unknownSocket = Code(rawValue: "unknownSocket")
    }

    /// The kind of failure.
    package let code: Code
    /// A sentence that says what failed and what to do.
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
