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
