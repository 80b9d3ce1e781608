public import struct Foundation.Date

/// What `ksso status --json` prints and `GET /v1/status` answers. Keys are only ever added; what is absent is null.
public struct StatusDocument: Codable, Sendable, Hashable {
    /// Whether an agent told it.
    public var agent: Bool
    /// Whose tickets these are: `agent` where they are in the agent's own cache, `system` where they are in the krb5 default cache.
    public var cacheMode: String
    /// The sessions, the primary cache's first.
    public var sessions: [Session]
    /// Why the sessions are not known; left out where they are.
    public var failure: String?
    /// The agent's own state; left out where no agent told it.
    public var process: Process?

    /// Makes a document.
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
        /// Whether it answers for its realm where nothing else is said.
        public var isDefault: Bool
        /// Whether its ticket holds.
        public var signedIn: Bool
        /// Who acquired the ticket: this project by `password`, `keytab`, `certificate` or `storedSecret`, a password that is kept; or
        /// `other`.
        public var acquiredBy: String
        /// Where the tickets are.
        public var cache: String
        /// Until when the ticket-granting ticket holds.
        public var ticketExpires: Date
        /// Until when it can be renewed.
        public var renewUntil: Date?
        /// When the password expires.
        public var passwordExpires: Date?
        /// The service tickets that hold.
        public var services: [Service]

        /// Makes a session.
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
            self.services = services
        }

        /// Writes null for what is absent.
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
            try container.encode(services, forKey: .services)
        }
    }

    /// A service ticket of a session.
    public struct Service: Codable, Sendable, Hashable {
        /// The service principal.
        public var service: String
        /// Until when its ticket holds.
        public var expires: Date

        /// Makes a service ticket.
        public init(service: String, expires: Date) {
            self.service = service
            self.expires = expires
        }
    }

    /// A line of the agent's log.
    public struct Message: Codable, Sendable, Hashable {
        /// When it was written.
        public var date: Date
        /// The line.
        public var text: String
        /// Whether an administrator should act on it.
        public var isFailure: Bool

        /// Makes a line.
        public init(date: Date, text: String, isFailure: Bool) {
            self.date = date
            self.text = text
            self.isFailure = isFailure
        }
    }

    /// The agent's own state.
    public struct Process: Codable, Sendable, Hashable {
        /// Its process number.
        public var processID: Int32
        /// Since when it runs.
        public var started: Date
        /// How many connections to its API are open.
        public var connections: Int
        /// How many exchanges wait for a server's token.
        public var exchanges: Int
        /// How many connections to its credential caches are open.
        public var cacheConnections: Int?
        /// How many credential caches it holds.
        public var caches: Int?
        /// How many tickets they hold.
        public var tickets: Int?
        /// When the profiles were read last.
        public var profilesRead: Date?
        /// The files of the profiles in force.
        public var profiles: [String]?
        /// What it has told its administrator last, the oldest first.
        public var messages: [Message]?
        /// The file that it tells it in, if it is one.
        public var log: String?

        /// Makes a state.
        public init(processID: Int32, started: Date) {
            self.processID = processID
            self.started = started
            connections = 0
            exchanges = 0
        }
    }
}
