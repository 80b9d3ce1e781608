public import struct Foundation.Date

/// A principal of a test realm: a user with a password, or a service with random keys in the realm's keytab.
public struct TestPrincipal: Sendable {
    /// The name, with or without the realm: `alice`, `HTTP/localhost`.
    public var name: String
    /// The password; if nil, the principal gets random keys, which are added to the realm's keytab.
    public var password: String?
    /// The database attributes, in order: of two contradictory ones, the later one applies.
    public var attributes: [Attribute]
    /// The maximum ticket lifetime, in whole seconds; the realm's if nil.
    public var ticketLifetime: Duration?
    /// The maximum renewable lifetime, in whole seconds; the realm's if nil.
    public var renewableLifetime: Duration?
    /// When the account expires.
    public var expires: Expiry
    /// When the password expires.
    public var passwordExpires: Expiry
    /// The encryption types of its keys in order of preference; the realm's if empty.
    public var encryptionTypes: [EncryptionType]
    /// The name of its password policy, which must already exist; none if nil.
    public var policy: String?

    /// Creates a principal. ``TestRealmOptions/requiresPreauthentication`` applies to users; services do not require pre-authentication.
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

    /// Throws an error for values that kadmin would misunderstand or silently accept.
    func check() throws {
        func refuse(_ reason: String) -> KerberosTestingError {
            KerberosTestingError(.invalidArgument, "The principal \(name.isEmpty ? "without a name" : name): \(reason)")
        }
        if name.isEmpty { throw refuse("set a name, such as alice.") }
        if password == "" { throw refuse("a password cannot be empty; omit it for random keys.") }
        for lifetime in [ticketLifetime, renewableLifetime].compactMap(\.self) where lifetime < .seconds(1) {
            throw refuse("a lifetime is at least a second, not \(lifetime).")
        }
        for type in encryptionTypes where type.canonicalName == nil {
            throw refuse("libkrb5 has no encryption type \(type); see krb5.conf for the names, such as \(EncryptionType.aes256).")
        }
        if Set(encryptionTypes.map(\.canonicalName)).count < encryptionTypes.count { throw refuse("an encryption type is listed twice.") }
    }
}

extension TestPrincipal: CustomStringConvertible {
    /// The name, without the password.
    public var description: String { name }
}

extension TestPrincipal {
    /// A database attribute of a principal, which permits or requires something (kadmin's `add_principal`).
    public struct Attribute: Sendable, Hashable, CustomStringConvertible {
        /// The attribute in kadmin's syntax, with its sign: `+requires_preauth`.
        public let description: String

        /// Creates an attribute from kadmin's syntax, for those that are not defined here.
        public init(kadmin description: String) {
            self.description = description
        }

        /// The principal must pre-authenticate to get a ticket; the KDC counts wrong passwords.
        public static let requiresPreauthentication = Attribute(kadmin: "+requires_preauth")
        /// The principal gets tickets without pre-authentication; the KDC does not count wrong passwords.
        public static let needsNoPreauthentication = Attribute(kadmin: "-requires_preauth")
        /// The principal must pre-authenticate with a hardware device; a password alone is not enough.
        public static let requiresHardwareAuthentication = Attribute(kadmin: "+requires_hwauth")
        /// The KDC issues no tickets to the principal or for it.
        public static let locked = Attribute(kadmin: "-allow_tix")
        /// The user must change the password before getting any other ticket.
        public static let needsPasswordChange = Attribute(kadmin: "+needchange")
        /// The principal's tickets cannot be forwardable.
        public static let notForwardable = Attribute(kadmin: "-allow_forwardable")
        /// The principal's tickets cannot be renewable.
        public static let notRenewable = Attribute(kadmin: "-allow_renewable")
        /// The principal's tickets cannot be proxiable.
        public static let notProxiable = Attribute(kadmin: "-allow_proxiable")
        /// The principal's tickets cannot be postdated.
        public static let notPostdatable = Attribute(kadmin: "-allow_postdated")
        /// The KDC issues no service tickets for the principal, which is only a client.
        public static let notAService = Attribute(kadmin: "-allow_svr")
        /// The KDC issues tickets for the principal only in AS exchanges, not in TGS exchanges.
        public static let noServiceTickets = Attribute(kadmin: "-allow_tgs_req")
        /// The KDC marks tickets for the service as `ok-as-delegate`, so that clients may forward tickets to it.
        public static let okAsDelegate = Attribute(kadmin: "+ok_as_delegate")
        /// The service may obtain forwardable tickets to itself on behalf of users (S4U2Self).
        public static let okToAuthenticateAsDelegate = Attribute(kadmin: "+ok_to_auth_as_delegate")
        /// The KDC adds no PAC to service tickets for the principal.
        public static let needsNoAuthorizationData = Attribute(kadmin: "+no_auth_data_required")
    }
}

extension TestPrincipal {
    /// When an account or a password expires, by the database's clock.
    public struct Expiry: Sendable, Hashable {
        private enum Time: Hashable {
            case never
            case at(Date)
            case after(Duration)
        }

        private let time: Time

        /// Never.
        public static let never = Expiry(time: .never)
        /// One day ago.
        public static let past = Expiry(time: .after(.seconds(-86_400)))

        /// Expires at a time, in whole seconds.
        public static func at(_ date: Date) -> Expiry { Expiry(time: .at(date)) }

        /// Expires this long after the principal has been added or changed, in whole seconds.
        public static func after(_ duration: Duration) -> Expiry { Expiry(time: .after(duration)) }

        /// The time in kadmin's syntax, in UTC regardless of the process's time zone.
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

/// An encryption type (RFC 3961), with its name in krb5.conf.
public struct EncryptionType: Sendable, Hashable, CustomStringConvertible {
    /// The name, such as `aes256-cts-hmac-sha1-96`.
    public let description: String

    /// Creates an encryption type from any of its names in krb5.conf, such as `aes256-cts`. Adding a principal with a name that libkrb5
    /// does not know fails.
    public init(_ description: String) {
        self.description = description
    }

    /// AES-256 with SHA-1 (RFC 3962), the default.
    public static let aes256 = EncryptionType("aes256-cts-hmac-sha1-96")
    /// AES-128 with SHA-1 (RFC 3962).
    public static let aes128 = EncryptionType("aes128-cts-hmac-sha1-96")
    /// AES-256 with SHA-384 (RFC 8009).
    public static let aes256SHA384 = EncryptionType("aes256-cts-hmac-sha384-192")
    /// AES-128 with SHA-256 (RFC 8009).
    public static let aes128SHA256 = EncryptionType("aes128-cts-hmac-sha256-128")
    /// Camellia-256 (RFC 6803).
    public static let camellia256 = EncryptionType("camellia256-cts-cmac")
    /// Camellia-128 (RFC 6803).
    public static let camellia128 = EncryptionType("camellia128-cts-cmac")
    /// RC4 (RFC 4757), as used by old Windows domains; deprecated, and rejected by clients that do not allow it.
    public static let rc4 = EncryptionType("arcfour-hmac")
}

extension EncryptionType {
    /// The first of libkrb5's names for it, regardless of case; nil if libkrb5 has none. kadmin silently ignores unknown names.
    var canonicalName: String? {
        let name = description.lowercased()
        return Self.names.first { $0.contains(name) }?.first
    }

    /// All encryption types of krb5.conf(5) and libkrb5, each with its aliases.
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
