public import struct Foundation.Date

/// A principal of a test realm: a user with a password, or a service with random keys in the realm's keytab.
public struct TestPrincipal: Sendable {
    /// The name, without the realm or with it: `alice`, `HTTP/localhost`.
    public var name: String
    /// The password; nil gives random keys, which go into the realm's keytab.
    public var password: String?
    /// What the KDC allows and demands, in this order: of two that contradict the later one holds.
    public var attributes: [Attribute]
    /// The longest life of a ticket, in whole seconds; the realm's if nil.
    public var ticketLifetime: Duration?
    /// How long a ticket can be renewed, in whole seconds; the realm's if nil.
    public var renewableLifetime: Duration?
    /// When the principal expires.
    public var expires: Expiry
    /// When the password expires.
    public var passwordExpires: Expiry
    /// The kinds of its keys, the best first; the realm's if empty.
    public var encryptionTypes: [EncryptionType]
    /// The name of its password policy, which must be there first; none if nil.
    public var policy: String?

    /// Describes a principal. Users pre-authenticate as ``TestRealmOptions/requiresPreauthentication`` says, services do not.
    public init(
        _ name: String,
        password: String? = nil,
        attributes: [Attribute] = [],
        ticketLifetime: Duration? = nil,
        renewableLifetime: Duration? = nil,
        expires: Expiry = .never,
        passwordExpires: Expiry = .never,
        encryptionTypes: [EncryptionType] = [],
        policy: String? = nil
    ) {
        self.name = name
        self.password = password
        self.attributes = attributes
        self.ticketLifetime = ticketLifetime
        self.renewableLifetime = renewableLifetime
        self.expires = expires
        self.passwordExpires = passwordExpires
        self.encryptionTypes = encryptionTypes
        self.policy = policy
    }

    /// Throws what kadmin would misunderstand or silently accept.
    func check() throws {
        func refuse(_ reason: String) -> KerberosTestingError {
            KerberosTestingError(.invalidArgument, "The principal \(name.isEmpty ? "without a name" : name): \(reason)")
        }
        if name.isEmpty { throw refuse("give it a name, such as alice.") }
        if password == "" { throw refuse("a password cannot be empty; leave it out for random keys.") }
        for lifetime in [ticketLifetime, renewableLifetime].compactMap(\.self) where lifetime < .seconds(1) {
            throw refuse("a lifetime is at least a second, not \(lifetime).")
        }
        for type in encryptionTypes where type.canonicalName == nil {
            throw refuse("libkrb5 has no encryption type \(type); see krb5.conf for the names, such as \(EncryptionType.aes256).")
        }
        if Set(encryptionTypes.map(\.canonicalName)).count < encryptionTypes.count { throw refuse("an encryption type is named twice.") }
    }
}

extension TestPrincipal: CustomStringConvertible {
    /// The name, never the password.
    public var description: String { name }
}

extension TestPrincipal {
    /// What the KDC allows a principal, or demands of it: a flag of the database (kadmin's `add_principal`).
    public struct Attribute: Sendable, Hashable, CustomStringConvertible {
        /// As kadmin writes it, with its sign: `+requires_preauth`.
        public let description: String

        /// A flag in kadmin's words, for those that have no name here.
        public init(kadmin description: String) {
            self.description = description
        }

        /// The principal has to prove itself before it gets a ticket; wrong passwords are counted.
        public static let requiresPreauthentication = Attribute(kadmin: "+requires_preauth")
        /// Whoever asks gets a ticket, and no wrong password is counted.
        public static let needsNoPreauthentication = Attribute(kadmin: "-requires_preauth")
        /// A password alone is not enough.
        public static let requiresHardwareAuthentication = Attribute(kadmin: "+requires_hwauth")
        /// No ticket is given, neither to it nor for it.
        public static let locked = Attribute(kadmin: "-allow_tix")
        /// The password must be changed before anything else.
        public static let needsPasswordChange = Attribute(kadmin: "+needchange")
        /// Its tickets cannot be forwarded.
        public static let notForwardable = Attribute(kadmin: "-allow_forwardable")
        /// Its tickets cannot be renewed.
        public static let notRenewable = Attribute(kadmin: "-allow_renewable")
        /// Its tickets cannot be proxied.
        public static let notProxiable = Attribute(kadmin: "-allow_proxiable")
        /// Its tickets cannot be postdated.
        public static let notPostdatable = Attribute(kadmin: "-allow_postdated")
        /// No service tickets are given for it: it is a client only.
        public static let notAService = Attribute(kadmin: "-allow_svr")
        /// No ticket-granting service: tickets for it come by the AS exchange only.
        public static let noServiceTickets = Attribute(kadmin: "-allow_tgs_req")
        /// The KDC vouches for the service, so that clients may forward tickets to it.
        public static let okAsDelegate = Attribute(kadmin: "+ok_as_delegate")
        /// The service may get tickets to itself for others that can be forwarded (S4U2Self).
        public static let okToAuthenticateAsDelegate = Attribute(kadmin: "+ok_to_auth_as_delegate")
        /// The KDC puts no PAC into its tickets.
        public static let needsNoAuthorizationData = Attribute(kadmin: "+no_auth_data_required")
    }
}

extension TestPrincipal {
    /// When a principal or its password expires, by the database's clock.
    public struct Expiry: Sendable, Hashable {
        private enum Time: Hashable {
            case never
            case at(Date)
            case after(Duration)
        }

        private let time: Time

        /// Never.
        public static let never = Expiry(time: .never)
        /// A day ago.
        public static let past = Expiry(time: .after(.seconds(-86_400)))

        /// At a moment, to the second.
        public static func at(_ date: Date) -> Expiry { Expiry(time: .at(date)) }

        /// So long after the principal has been added or changed, in whole seconds.
        public static func after(_ duration: Duration) -> Expiry { Expiry(time: .after(duration)) }

        /// As kadmin reads it, in UTC whatever the process's time zone is.
        var words: String {
            switch time {
            case .never: "never"
            case .at(let date): Self.words(date)
            case .after(let duration): Self.words(Date(timeIntervalSinceNow: Double(duration.components.seconds)))
            }
        }

        private static func words(_ date: Date) -> String {
            let style = Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZoneSeparator: .omitted).year().month().day()
                .time(includingFractionalSeconds: false)
            return "\(date.formatted(style)) UTC"
        }
    }
}

/// A kind of key (RFC 3961), by the name that krb5.conf has for it.
public struct EncryptionType: Sendable, Hashable, CustomStringConvertible {
    /// The name, such as `aes256-cts-hmac-sha1-96`.
    public let description: String

    /// An encryption type by its name in krb5.conf, of which it may be any: `aes256-cts` too. A name that libkrb5 has not is refused when a
    /// principal is added.
    public init(_ description: String) {
        self.description = description
    }

    /// AES with 256 bits and SHA-1 (RFC 3962), the kit's first choice.
    public static let aes256 = EncryptionType("aes256-cts-hmac-sha1-96")
    /// AES with 128 bits and SHA-1 (RFC 3962).
    public static let aes128 = EncryptionType("aes128-cts-hmac-sha1-96")
    /// AES with 256 bits and SHA-384 (RFC 8009).
    public static let aes256SHA384 = EncryptionType("aes256-cts-hmac-sha384-192")
    /// AES with 128 bits and SHA-256 (RFC 8009).
    public static let aes128SHA256 = EncryptionType("aes128-cts-hmac-sha256-128")
    /// Camellia with 256 bits (RFC 6803).
    public static let camellia256 = EncryptionType("camellia256-cts-cmac")
    /// Camellia with 128 bits (RFC 6803).
    public static let camellia128 = EncryptionType("camellia128-cts-cmac")
    /// RC4 (RFC 4757), as old Windows domains have it; deprecated, and refused by clients that do not allow it.
    public static let rc4 = EncryptionType("arcfour-hmac")
}

extension EncryptionType {
    /// The first of the names that libkrb5 has for it, in whatever case it is written; nil where it has none. kadmin takes no notice of
    /// such.
    var canonicalName: String? {
        let name = description.lowercased()
        return Self.names.first { $0.contains(name) }?.first
    }

    /// All that krb5.conf(5) and libkrb5 have, with the other names of each.
    private static let names = [
        ["aes256-cts-hmac-sha1-96", "aes256-cts", "aes-256", "aes256-sha1"],
        ["aes128-cts-hmac-sha1-96", "aes128-cts", "aes-128", "aes128-sha1"],
        ["aes256-cts-hmac-sha384-192", "aes256-sha2"],
        ["aes128-cts-hmac-sha256-128", "aes128-sha2"],
        ["camellia256-cts-cmac", "camellia256-cts"],
        ["camellia128-cts-cmac", "camellia128-cts"],
        ["arcfour-hmac", "rc4-hmac", "arcfour-hmac-md5"],
        ["arcfour-hmac-exp", "rc4-hmac-exp", "arcfour-hmac-md5-exp"],
        ["des3-cbc-sha1", "des3-hmac-sha1", "des3-cbc-sha1-kd"],
        ["des3-cbc-raw"],
    ]
}
