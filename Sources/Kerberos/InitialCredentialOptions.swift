/// What to ask of the KDC at sign-in; what is nil is krb5.conf's choice (`krb5_get_init_creds_opt`).
public struct InitialCredentialOptions: Sendable, Hashable {
    /// How long the ticket shall hold.
    public var lifetime: Duration?
    /// How long it shall be renewable.
    public var renewableLifetime: Duration?
    /// Whether the ticket may be forwarded to a service that is trusted with it.
    public var isForwardable: Bool?
    /// How long to wait for a KDC; nil is 10 seconds with one KDC known, else 25.
    public var deadline: Duration?

    /// Options that leave everything to krb5.conf.
    public init(
        lifetime: Duration? = nil,
        renewableLifetime: Duration? = nil,
        isForwardable: Bool? = nil,
        deadline: Duration? = nil
    ) {
        self.lifetime = lifetime
        self.renewableLifetime = renewableLifetime
        self.isForwardable = isForwardable
        self.deadline = deadline
    }
}
