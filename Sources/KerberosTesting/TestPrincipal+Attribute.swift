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
