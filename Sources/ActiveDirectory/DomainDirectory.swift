public import Kerberos
internal import SystemSupport

/// The directory (LDAP) of an Active Directory domain, in which users can read their own accounts: when the password expires, whether the
/// account is locked, where the home directory is.
///
/// A reading signs in with a ticket for the controller, and encrypts the connection with its key, or by TLS. It needs OpenLDAP's libldap,
/// which is loaded at run time.
///
/// ```swift
/// let directory = DomainDirectory(realm: "CORP.EXAMPLE", controllers: ["dc1.corp.example"])
/// let record = try await directory.record(of: alice, using: KerberosClient(RealmConfiguration(realm: "CORP.EXAMPLE")), cache: cache)
/// if record.account.passwordExpiry == .mustChange { print("The password must be changed.") }
/// ```
public struct DomainDirectory: Sendable {
    /// The options for reading a directory.
    public struct Options: Sendable {
        /// Whether to use TLS, and to read nothing without it: `requireTLSForLDAP` of a profile. The controller's certificate is checked.
        public var requiresTLS = false
        /// A file of certificates of authorities to trust, in PEM; nil is the one that `LDAPTLS_CACERT` or the machine's ldap.conf names,
        /// else the system's.
        public var trustedAuthorities: String?
        /// Creates the bindings to a TLS connection from the server's certificate in DER; if it returns nil, nothing is read. Without
        /// this function, the sign-in is not bound to the connection.
        public var channelBindings: (@Sendable ([UInt8]) -> ChannelBindings?)?
        /// How long to wait for each reply of a controller. All replies of a controller together may take three times as long.
        public var limit = Duration.seconds(2)
        /// The port of the controllers.
        package var port: UInt16 = 389

        /// Creates options.
        public init() {}
    }

    /// The data that one reading returns: a principal's account, and the rules for its passwords.
    public struct Record: Sendable, Hashable {
        /// The account.
        public let account: DirectoryAccount
        /// The rules for its passwords; nil if the directory does not show those that apply to it.
        public let passwordRules: DomainPasswordRules?
    }

    private let realm: String
    private let controllers: [String]
    private let options: Options

    /// Creates a directory. Nothing is sent before it is read.
    ///
    /// - Parameters:
    ///   - realm: The realm of the domain, whose DNS name is the same in lower case.
    ///   - controllers: The host names of controllers, the nearest first.
    ///   - options: The options for reading it.
    public init(realm: String, controllers: [String], options: Options = Options()) {
        self.realm = realm
        self.controllers = controllers
        self.options = options
    }

    /// Whether libldap is installed. The first call loads it from the disk, on the caller's thread.
    public static var isAvailable: Bool { LDAPLibrary.shared != nil }

    /// The service whose ticket a controller's directory accepts: `ldap/dc1.corp.example/corp.example@CORP.EXAMPLE`. With the domain in
    /// the name it is one that only controllers can register; another member of the domain could register the rest for itself.
    private func service(at host: String) throws(KerberosError) -> Principal {
        try Principal("ldap/\(host)/\(realm.lowercased())@\(realm)")
    }

    /// Reads a principal's account, from the first controller that answers; at most three are tried. Throws `canceled` at once if
    /// the task is canceled.
    ///
    /// - Parameters:
    ///   - principal: A principal of the realm, as the KDC names it.
    ///   - client: The client that gets the ticket for the controller.
    ///   - cache: The cache with the ticket-granting ticket of the principal that reads, which need not be the same one. It keeps the
    ///     ticket for the controller.
    /// - Throws: ``DirectoryError``.
    public func record(
        of principal: Principal,
        using client: KerberosClient,
        cache: CredentialCacheName
    ) async throws(DirectoryError) -> Record {
        try await read(using: client, cache: cache) { reading, conversation throws(DirectoryError) in
            try reading.record(of: principal, conversation)
        }
    }

    /// The names (`sAMAccountName`) of the accounts that have a service principal name, in order; usually one. With several, the KDC issues
    /// no ticket for it.
    ///
    /// Parameters, errors and cancellation are those of ``record(of:using:cache:)``.
    package func accounts(
        ofService service: Principal,
        using client: KerberosClient,
        cache: CredentialCacheName
    ) async throws(DirectoryError) -> [String] {
        try await read(using: client, cache: cache) { reading, conversation throws(DirectoryError) in
            try reading.accounts(ofService: service, conversation)
        }
    }

    /// Reads from the first controller that answers.
    private func read<Value: Sendable>(
        using client: KerberosClient,
        cache: CredentialCacheName,
        _ body: @escaping @Sendable (DirectoryReading, LDAPConversation) throws(DirectoryError) -> Value
    ) async throws(DirectoryError) -> Value {
        // The first call reads the library's file.
        guard let library = await BlockingCall.run({ LDAPLibrary.shared }) else {
            let message = "the directory cannot be read, because libldap is not installed. Install libldap-2.5-0 or libldap2."
            throw DirectoryError(.libraryMissing, subject: realm, message: message)
        }
        var last = DirectoryError(.unreachable, subject: realm, message: "no controller of the domain is known.")
        for host in controllers.prefix(3) {
            do throws(DirectoryError) {
                let credential = try await credential(for: host, client, cache)
                return try await read(at: host, with: credential, library, body)
            } catch {
                if error.code == .unknownAccount || Task.isCancelled { throw error }
                last = error
            }
        }
        throw last
    }

    private func credential(
        for host: String,
        _ client: KerberosClient,
        _ cache: CredentialCacheName
    ) async throws(DirectoryError) -> InitiatorCredential {
        do throws(KerberosError) {
            let ticket = try await client.serviceTicket(for: try service(at: host), in: cache)
            return try await client.initiatorCredential(for: ticket, from: cache, offersProtection: !options.requiresTLS)
        } catch {
            throw DirectoryError(error.code == .canceled ? .canceled : .noTicket, subject: host, message: error.message, cause: error)
        }
    }

    private func read<Value: Sendable>(
        at host: String,
        with credential: InitiatorCredential,
        _ library: LDAPLibrary,
        _ body: @escaping @Sendable (DirectoryReading, LDAPConversation) throws(DirectoryError) -> Value
    ) async throws(DirectoryError) -> Value {
        // A controller that does not answer holds its thread somewhat longer than the caller.
        let result = await firstResult(within: options.limit * 3, cancelsLateWork: false) { [realm, options] in
            let addresses = await NameService.lookUp(host).host?.addresses ?? []
            let reading = DirectoryReading(host: host, realm: realm, addresses: addresses, options: options)
            return await BlockingCall.run {
                // libldap writes to its socket as to a file.
                BrokenPipes.ignoring {
                    Result { () throws(DirectoryError) in try reading.run(with: credential, library, body) }
                }
            }
        }
        guard let result else {
            if Task.isCancelled { throw DirectoryError(.canceled, subject: host, message: "canceled.") }
            let message = "the controller did not answer all requests within \(options.limit * 3). Check the network, and try again."
            throw DirectoryError(.unreachable, subject: host, message: message)
        }
        return try result.get()
    }
}

/// One reading of one controller.
private struct DirectoryReading: Sendable {
    let host: String
    let realm: String
    let addresses: [String]
    let options: DomainDirectory.Options

    /// Connects, signs in, reads and disconnects. Blocks the calling thread, as long as the limits of the options allow.
    func run<Value>(
        with credential: InitiatorCredential,
        _ library: LDAPLibrary,
        _ body: (DirectoryReading, LDAPConversation) throws(DirectoryError) -> Value
    ) throws(DirectoryError) -> Value {
        guard let socket = ServerConnection.open(to: addresses, port: options.port, within: options.limit) else {
            throw DirectoryError(.unreachable, subject: host, message: "the controller does not answer on port \(options.port) (LDAP).")
        }
        // A peer that sends a byte now and then would never exceed the limit of a single call.
        let deadline = SocketDeadline(of: socket, after: options.limit * 3)
        defer { deadline.end() }
        let conversation = try LDAPConversation(library, socket: socket, host: host, limit: options.limit)
        let bindings = options.requiresTLS ? try protect(conversation) : nil
        try conversation.signIn(with: credential, isProtected: options.requiresTLS, bindings: bindings)
        return try body(self, conversation)
    }

    func record(of principal: Principal, _ conversation: LDAPConversation) throws(DirectoryError) -> DomainDirectory.Record {
        let entry = try account(of: principal, conversation)
        guard let account = DirectoryAccount(entry) else { throw unknown(principal) }
        return DomainDirectory.Record(account: account, passwordRules: try rules(for: entry, conversation))
    }

    /// Starts TLS, and returns the bindings to the connection.
    private func protect(_ conversation: LDAPConversation) throws(DirectoryError) -> ChannelBindings? {
        let authorities = TrustedAuthorities.path(options.trustedAuthorities)
        let certificate = try conversation.startTLS(trusting: authorities)
        guard let bind = options.channelBindings else { return nil }
        if let bindings = certificate.flatMap(bind) { return bindings }
        let message = "the sign-in cannot be bound to the controller's certificate, whose signature has no usual hash. Replace it."
        throw DirectoryError(.tlsFailed, subject: host, message: message)
    }

    /// The domain's place in the directory, which is made of the labels of its DNS name.
    private var domain: String { realm.lowercased().split(separator: ".").map { "DC=\($0)" }.joined(separator: ",") }

    private func account(of principal: Principal, _ conversation: LDAPConversation) throws(DirectoryError) -> LDAPEntry {
        // A host's principal is its name and a dollar sign; an enterprise name is a user principal name as it is.
        let name = principal.components.joined(separator: "/")
        let own = principal.isEnterpriseName ? name : "\(name)@\(principal.realm)"
        let filter =
            "(&(objectClass=user)(|(sAMAccountName=\(LDAPFilter.escaped(name)))(userPrincipalName=\(LDAPFilter.escaped(own)))))"
        let found = try conversation.entries(under: domain, .subtree, filter: filter, attributes: DirectoryAccount.attributes)
        guard let entry = LDAPEntry.account(name, among: found) else {
            if found.count < 2 { throw unknown(principal) }
            let message = "the directory of \(realm) shows several accounts with this user principal name. Tell your administrator."
            throw DirectoryError(.unknownAccount, subject: principal.displayName, message: message)
        }
        return entry
    }

    func accounts(ofService service: Principal, _ conversation: LDAPConversation) throws(DirectoryError) -> [String] {
        let name = LDAPFilter.escaped(service.components.joined(separator: "/"))
        let attribute = "sAMAccountName"
        return try conversation.entries(under: domain, .subtree, filter: "(servicePrincipalName=\(name))", attributes: [attribute])
            .compactMap { $0[attribute] }.sorted()
    }

    private func unknown(_ principal: Principal) -> DirectoryError {
        DirectoryError(.unknownAccount, subject: principal.displayName, message: "the directory of \(realm) shows no such account.")
    }

    /// The rules for an account's passwords: those of its settings object if it has one, else those of the domain.
    private func rules(for account: LDAPEntry, _ conversation: LDAPConversation) throws(DirectoryError) -> DomainPasswordRules? {
        if let settings = account["msDS-ResultantPSO"] {
            let attributes = DomainPasswordRules.settingsAttributes
            let found = try conversation.entries(under: settings, .entry, filter: "(objectClass=*)", attributes: attributes)
            // Only administrators can read these objects, unless the domain's say otherwise.
            return found.first.map(DomainPasswordRules.init(settings:))
        }
        let attributes = DomainPasswordRules.domainAttributes
        let found = try conversation.entries(under: domain, .entry, filter: "(objectClass=*)", attributes: attributes)
        return found.first.map(DomainPasswordRules.init(domain:))
    }
}

/// Search filters (RFC 4515).
enum LDAPFilter {
    /// A value with the characters escaped that have a meaning in filters.
    static func escaped(_ value: String) -> String {
        value.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "*"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "\\"), 0, 0x80...:
                "\\" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            default: String(UnicodeScalar(byte))
            }
        }.joined()
    }
}
