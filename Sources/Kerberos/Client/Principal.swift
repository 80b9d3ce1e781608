internal import CKerberos
internal import Synchronization

/// A principal name, such as `alice@EXAMPLE.COM` or `HTTP/www.example.com@EXAMPLE.COM` (RFC 4120 section 6.2).
///
/// Principals are equal if their names have the same bytes, as for a KDC. A letter with an accent can be written in two ways that Swift's
/// strings consider equal, and that are two principals.
public struct Principal: Hashable, Sendable {
    /// The components: `["HTTP", "www.example.com"]`.
    public let components: [String]
    /// The realm; empty means that the KDC finds it (a referral).
    public let realm: String
    /// The name as `krb5_unparse_name` writes it, with special characters escaped.
    public let description: String

    /// Parses a name with `krb5_parse_name`; a name without a realm gets the default realm.
    ///
    /// - Throws: ``KerberosError/Code/malformedPrincipal`` if the name is invalid, or has no realm and none is given.
    public init(_ text: String, defaultRealm: String? = nil) throws(KerberosError) {
        // C strings end at a NUL, so the rest would be ignored.
        guard !text.utf8.contains(0), defaultRealm?.utf8.contains(0) != true else { throw Self.malformed(text) }
        // krb5_parse_name drops a backslash that escapes nothing: ADTEST\alice would become ADTESTalice.
        guard text.escapedCharacters.allSatisfy({ #"/@\ ntb0"#.utf8.contains($0) }) else {
            throw Self.malformedBackslash(text, defaultRealm)
        }
        let parsed: Result<Principal, KerberosError> = Self.parser.withLock { context in
            Result { () throws(KerberosError) in
                try Principal(parsing: text, defaultRealm: defaultRealm, context: context.get())
            }
        }
        self = try parsed.get()
    }

    /// Parses a name that a user typed, like ``init(_:defaultRealm:)``, but reports `DOMAIN\bob` as a Windows logon name: `\b`, `\n`, `\t`
    /// and `\0` are escapes that libkrb5 writes but users do not type.
    ///
    /// - Throws: ``KerberosError/Code/malformedPrincipal``, with the name to write instead.
    package init(typed text: String, defaultRealm: String? = nil) throws(KerberosError) {
        guard text.escapedCharacters.allSatisfy({ #"/@\ "#.utf8.contains($0) }) else { throw Self.malformedBackslash(text, defaultRealm) }
        try self.init(text, defaultRealm: defaultRealm)
        guard !realm.isEmpty else { throw Self.malformed(text) }
    }

    /// The same name in another realm.
    package func inRealm(_ realm: String) -> Principal {
        guard realm != self.realm else { return self }
        let own = description.utf8.count - Self.escaped(self.realm).utf8.count
        let name = String(decoding: description.utf8.prefix(own), as: UTF8.self)
        return Principal(components: components, realm: realm, description: name + Self.escaped(realm))
    }

    /// Compares the names byte by byte.
    public static func == (left: Principal, right: Principal) -> Bool { left.description.isIdentical(to: right.description) }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(description) }

    /// Creates an enterprise name (RFC 6806 section 5), such as the user principal name `alice@example.com` of Active Directory, whose
    /// suffix is no realm. The given realm's KDC finds the account and replaces the name by the canonical one.
    package init(enterprise name: String, realm: String) throws(KerberosError) {
        try self.init("\(Self.escaped(name))@\(Self.escaped(realm))")
    }

    /// Creates the principal of a service on a host; without a realm the KDC is asked for a referral.
    public init(service: String, host: String, realm: String? = nil) throws(KerberosError) {
        try self.init("\(Self.escaped(service))/\(Self.escaped(host))@\(Self.escaped(realm ?? ""))")
    }

    init(components: [String], realm: String, description: String) {
        self.components = components
        self.realm = realm
        self.description = description
    }

    /// Whether this is an enterprise name (RFC 6806 section 5), which the KDC replaces: a single component that contains an @.
    package var isEnterpriseName: Bool { components.count == 1 && components[0].contains("@") }

    /// Whether the realm may be the suffix of a user principal name instead, because it contains a lower-case letter and belongs to a name
    /// of one component. Realms, and those of Active Directory always, are in capital letters.
    package var mayBeEnterpriseName: Bool {
        components.count == 1 && realm.utf8.contains { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
    }

    /// Whether the account may be in another realm than the name says, because the KDC chooses it.
    package var mayBeOfAnyRealm: Bool { isEnterpriseName || mayBeEnterpriseName }

    /// Whether this is a ticket-granting service: `krbtgt/REALM@REALM`.
    public var isTicketGrantingService: Bool { components.count == 2 && components[0] == "krbtgt" }

    /// Whether this is the ticket-granting service that issues the given realm's tickets.
    func isTicketGrantingService(of realm: String) -> Bool { isTicketGrantingService && components[1] == realm }

    private init(parsing text: String, defaultRealm: String?, context: Context) throws(KerberosError) {
        var raw: krb5_principal?
        let status = krb5_parse_name_flags(context.raw, text, KRB5_PRINCIPAL_PARSE_REQUIRE_REALM, &raw)
        if status != 0, let defaultRealm, !defaultRealm.isEmpty {
            do throws(KerberosError) {
                self = try Principal(parsing: "\(text)@\(Self.escaped(defaultRealm))", defaultRealm: nil, context: context)
            } catch {
                throw error.about(text)
            }
            return
        }
        guard status == 0, let raw else { throw .library(status, .parseName, subject: text, context: context.raw) }
        defer { krb5_free_principal(context.raw, raw) }
        self = try Principal(copying: raw, context: context)
        guard !components.allSatisfy(\.isEmpty) else { throw Self.malformed(text) }
    }

    private static func malformed(_ text: String) -> KerberosError {
        KerberosError(.malformedPrincipal, subject: text, message: "this is not a principal name. Write it as name@REALM.")
    }

    private static func malformedBackslash(_ text: String, _ realm: String?) -> KerberosError {
        let parts = text.split(separator: #"\"#, omittingEmptySubsequences: false)
        let user = parts.last.map { $0.prefix { $0 != "@" } } ?? ""
        let isWindowsName = parts.count == 2 && !parts[0].isEmpty && !user.isEmpty && !text.contains("/")
        let named = text.lastIndex(of: "@").map { String(text[text.index(after: $0)...]) }
        let message =
            isWindowsName
            ? "a Windows logon name is not a principal. Write the user and the realm, such as \(user)@\(named ?? realm ?? "REALM")."
            : #"a backslash in a principal name must precede /, @, a space or another backslash. Write the name as name@REALM."#
        return KerberosError(.malformedPrincipal, subject: text, message: message)
    }

    private static func escaped(_ component: String) -> String {
        var result = ""
        for character in component {
            if "/@\\".contains(character) { result.append("\\") }
            result.append(character)
        }
        return result
    }

    /// A context for parsing names only; it reads no file and makes no network request.
    private static let parser = Mutex(
        Result { () throws(KerberosError) in try Context(RealmConfiguration(realm: "", base: .none)) }
    )
}

extension Principal: CustomStringConvertible {
    /// The name for messages: without the trailing `@` of an empty realm, and an enterprise name as it was typed.
    package var displayName: String {
        if isEnterpriseName { return components[0] }
        return realm.isEmpty ? String(description.dropLast()) : description
    }
}

extension Principal {
    /// Copies libkrb5's structure.
    init(copying raw: krb5_const_principal, context: Context) throws(KerberosError) {
        var text: UnsafeMutablePointer<CChar>?
        try context.check(krb5_unparse_name(context.raw, raw, &text), .parseName, subject: "principal")
        defer { krb5_free_unparsed_name(context.raw, text) }
        let data = raw.pointee
        let components = (0..<Int(data.length)).map { String(copying: data.data[$0]) }
        self.init(components: components, realm: String(copying: data.realm), description: text.map { String(cString: $0) } ?? "")
    }

    /// Lends libkrb5's structure for the duration of the call. A name of two components gets the type of a host-based service, so that the
    /// KDC may answer with a referral, and an enterprise name its own type, by which the KDC looks for it among all names of its accounts.
    func withRaw<Value>(
        in context: Context,
        _ body: (krb5_principal) throws(KerberosError) -> Value
    ) throws(KerberosError) -> Value {
        var raw: krb5_principal?
        try context.check(krb5_parse_name(context.raw, description, &raw), .parseName, subject: description)
        guard let raw else { throw KerberosError(.malformedPrincipal, subject: description, message: "this is not a principal name.") }
        defer { krb5_free_principal(context.raw, raw) }
        if components.count == 2, !isTicketGrantingService { raw.pointee.type = KRB5_NT_SRV_HST }
        if isEnterpriseName { raw.pointee.type = KRB5_NT_ENTERPRISE_PRINCIPAL }
        return try body(raw)
    }
}

extension String {
    /// Whether both texts have the same bytes. Texts that `==` considers equal may be written with different characters.
    package func isIdentical(to other: String) -> Bool { self == other && utf8.elementsEqual(other.utf8) }
}

extension String {
    /// The character after each backslash that is not itself escaped; 0xFF for a backslash at the end.
    fileprivate var escapedCharacters: [UInt8] {
        var result: [UInt8] = []
        var bytes = utf8.makeIterator()
        while let byte = bytes.next() {
            if byte == UInt8(ascii: "\\") { result.append(bytes.next() ?? 0xFF) }
        }
        return result
    }

    /// Copies a counted string of libkrb5.
    init(copying data: krb5_data) {
        guard let start = data.data, data.length > 0 else {
            self = ""
            return
        }
        self = String(decoding: UnsafeRawBufferPointer(start: start, count: Int(data.length)), as: UTF8.self)
    }
}
