public import struct Foundation.Date

/// The document that `ksso status --json` prints and `GET /v1/status` returns. Keys may be added, but never removed.
public struct StatusDocument: Codable, Sendable, Hashable {
    /// Whether an agent returned the document.
    public var agent: Bool
    /// Where the tickets are: `agent` if they are in the agent's own caches, `system` if they are in the default cache of krb5.conf.
    public var cacheMode: String
    /// The sessions, with the primary cache's session first.
    public var sessions: [Session]
    /// Why the sessions are not known; absent if they are.
    public var failure: String?
    /// The agent's own state; absent if no agent returned the document.
    public var process: Process?

    /// Creates a document.
    public init(agent: Bool = false, cacheMode: String = "system", sessions: [Session], process: Process? = nil) {
        self.agent = agent
        self.cacheMode = cacheMode
        self.sessions = sessions
        self.process = process
    }

    /// A principal with a ticket-granting ticket in a credential cache.
    public struct Session: Codable, Sendable, Hashable {
        /// The realm.
        public var realm: String
        /// The principal with its realm.
        public var principal: String
        /// Whether this principal answers for its realm by default.
        public var isDefault: Bool
        /// Whether the ticket-granting ticket is valid.
        public var signedIn: Bool
        /// How the ticket was acquired: the name of a kind of credential, such as `password` or `storedSecret` (a stored password), or
        /// `other` for another program. `openapi.yaml` lists the names.
        public var acquiredBy: String
        /// The name of the credential cache.
        public var cache: String
        /// When the ticket-granting ticket expires.
        public var ticketExpires: Date
        /// The end of its renewable life; null if it is not renewable.
        public var renewUntil: Date?
        /// When the password expires; null if it is not known.
        public var passwordExpires: Date?
        /// Why the account cannot sign in again, as the directory of the domain said: `disabled`, `locked` or `expired`; null if it can, or
        /// if the directory was not read.
        public var accountProblem: String?
        /// The home directory on a file server, as the directory of the domain said; null if it names none, or was not read.
        public var homeDirectory: String?
        /// The Active Directory site of this machine in the realm; null if it is not known.
        public var site: String?
        /// The valid service tickets.
        public var services: [Service]

        /// Creates a session.
        public init(
            realm: String,
            principal: String,
            isDefault: Bool,
            signedIn: Bool,
            acquiredBy: String,
            cache: String,
            ticketExpires: Date,
            renewUntil: Date?,
            passwordExpires: Date?,
            accountProblem: String? = nil,
            homeDirectory: String? = nil,
            site: String? = nil,
            services: [Service]
        ) {
            self.realm = realm
            self.principal = principal
            self.isDefault = isDefault
            self.signedIn = signedIn
            self.acquiredBy = acquiredBy
            self.cache = cache
            self.ticketExpires = ticketExpires
            self.renewUntil = renewUntil
            self.passwordExpires = passwordExpires
            self.accountProblem = accountProblem
            self.homeDirectory = homeDirectory
            self.site = site
            self.services = services
        }

        /// Encodes absent values as null.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(realm, forKey: .realm)
            try container.encode(principal, forKey: .principal)
            try container.encode(isDefault, forKey: .isDefault)
            try container.encode(signedIn, forKey: .signedIn)
            try container.encode(acquiredBy, forKey: .acquiredBy)
            try container.encode(cache, forKey: .cache)
            try container.encode(ticketExpires, forKey: .ticketExpires)
            try container.encode(renewUntil, forKey: .renewUntil)
            try container.encode(passwordExpires, forKey: .passwordExpires)
            try container.encode(accountProblem, forKey: .accountProblem)
            try container.encode(homeDirectory, forKey: .homeDirectory)
            try container.encode(site, forKey: .site)
            try container.encode(services, forKey: .services)
        }
    }

    /// A service ticket of a session.
    public struct Service: Codable, Sendable, Hashable {
        /// The service principal.
        public var service: String
        /// When the ticket expires.
        public var expires: Date

        /// Creates a service ticket.
        public init(service: String, expires: Date) {
            self.service = service
            self.expires = expires
        }
    }

    /// A message of the agent's log.
    public struct Message: Codable, Sendable, Hashable {
        /// When the message was logged.
        public var date: Date
        /// The text of the message.
        public var text: String
        /// Whether an administrator should act on it.
        public var isFailure: Bool

        /// Creates a message.
        public init(date: Date, text: String, isFailure: Bool) {
            self.date = date
            self.text = text
            self.isFailure = isFailure
        }
    }

    /// The agent's own state.
    public struct Process: Codable, Sendable, Hashable {
        /// The process ID.
        public var processID: Int32
        /// When the process started.
        public var started: Date
        /// The number of open connections to the API.
        public var connections: Int
        /// The number of exchanges that wait for a server's token.
        public var exchanges: Int
        /// The number of open connections to the credential caches; absent if the agent has no caches of its own.
        public var cacheConnections: Int?
        /// The number of credential caches.
        public var caches: Int?
        /// The number of tickets in those caches.
        public var tickets: Int?
        /// When the profiles were last read.
        public var profilesRead: Date?
        /// The files of the active profiles.
        public var profiles: [String]?
        /// The last log messages, oldest first.
        public var messages: [Message]?
        /// The path of the log, if it is a file.
        public var log: String?

        /// Creates a state without connections and exchanges.
        public init(processID: Int32, started: Date) {
            self.processID = processID
            self.started = started
            connections = 0
            exchanges = 0
        }
    }
}
