internal import COpenLDAP
internal import Foundation
internal import Kerberos
internal import SystemSupport

/// An entry of a directory, with those attributes that the reader may see.
struct LDAPEntry: Sendable, Hashable {
    let distinguishedName: String
    /// The first values, by attribute in lower case.
    private let values: [String: String]

    init(distinguishedName: String, values: [String: String]) {
        self.distinguishedName = distinguishedName
        self.values = Dictionary(values.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
    }

    subscript(attribute: String) -> String? { values[attribute.lowercased()] }

    func number(_ attribute: String) -> Int64? { self[attribute].flatMap(Int64.init) }

    /// The account with this name for signing in, else the only one with this user principal name; nil if there is none, or if there are
    /// several.
    static func account(_ name: String, among found: [LDAPEntry]) -> LDAPEntry? {
        found.first { $0["sAMAccountName"]?.lowercased() == name.lowercased() } ?? (found.count == 1 ? found.first : nil)
    }
}

/// The part of the directory in which a search looks.
enum LDAPScope: Int32 {
    case entry = 0
    case subtree = 2
}

/// A connection to a controller. All calls block, and must be made on one thread.
final class LDAPConversation {
    private let library: LDAPLibrary
    private let host: String
    private var handle: OpaquePointer?
    private var layer: SecurityLayer?
    private var limit: timeval

    /// Takes over a connected socket.
    init(_ library: LDAPLibrary, socket: Int32, host: String, limit: Duration) throws(DirectoryError) {
        self.library = library
        self.host = host
        self.limit = timeval(
            tv_sec: Int(limit.components.seconds),
            tv_usec: .init(limit.components.attoseconds / 1_000_000_000_000)
        )
        let status = library.initialize(socket, LDAPConstant.protocolTCP, "ldap://\(host)", &handle)
        guard status == LDAPConstant.success, handle != nil else {
            close(socket)
            throw failure(status)
        }
        _ = setOption(LDAPConstant.optionVersion, LDAPConstant.version3)
        // libldap reads options in a file of the current folder too (ldaprc).
        _ = setOption(LDAPConstant.optionAliases, LDAPConstant.neverFollow)
        // A referral would lead to another server, with no ticket.
        _ = library.setOption(handle, LDAPConstant.optionReferrals, nil)
        _ = library.setOption(handle, LDAPConstant.optionTimeout, &self.limit)
        _ = library.setOption(handle, LDAPConstant.optionNetworkTimeout, &self.limit)
        // Without a limit, libldap would allocate whatever length a message declares.
        var longest = Self.longestMessage
        guard let sockbuf, library.control(sockbuf, LDAPConstant.controlLongestMessage, &longest) == 1 else {
            throw failure(LDAPConstant.serverDown)
        }
    }

    /// The longest message that is accepted, in bytes.
    private static let longestMessage: UInt = 1 << 18
    /// How many entries a search may find.
    private static let mostEntries = 20

    private var sockbuf: OpaquePointer? {
        var sockbuf: OpaquePointer?
        return library.getOption(handle, LDAPConstant.optionSockbuf, &sockbuf) == 0 ? sockbuf : nil
    }

    deinit {
        // Sends the farewell through the layer, which is released afterwards.
        if let handle { _ = library.unbind(handle, nil, nil) }
        withExtendedLifetime(layer) {}
    }

    /// Sets an option with a number; false if that fails.
    private func setOption(_ option: Int32, _ value: Int32) -> Bool {
        var value = value
        return library.setOption(handle, option, &value) == 0
    }

    /// Starts TLS (RFC 4511 section 4.14), and checks the controller's certificate and name.
    ///
    /// - Parameter authorities: The file of certificates to trust.
    /// - Returns: The controller's certificate in DER.
    func startTLS(trusting authorities: String) throws(DirectoryError) -> [UInt8]? {
        // Only libldap with OpenSSL has this one.
        _ = setOption(LDAPConstant.optionTLSRevocationCheck, 0)
        // Each must succeed: without a context of its own, the handle would use the one that a file in the current folder configures.
        guard setOption(LDAPConstant.optionTLSRequireCertificate, LDAPConstant.demandCertificate),
            setOption(LDAPConstant.optionTLSOldestVersion, LDAPConstant.version12OfTLS),
            authorities.withCString({ library.setOption(handle, LDAPConstant.optionTLSAuthorities, $0) }) == 0,
            // An empty text removes what such a file sets.
            LDAPConstant.textsOfTLS.allSatisfy({ option in "".withCString { library.setOption(handle, option, $0) } == 0 }),
            setOption(LDAPConstant.optionTLSNewContext, 0)
        else {
            let message = "TLS 1.2 with the authorities in \(authorities) cannot be set up, and nothing is read without TLS."
            throw DirectoryError(.tlsFailed, subject: host, message: message)
        }
        let status = library.startTLS(handle, nil, nil)
        guard status == LDAPConstant.success else {
            if [LDAPConstant.serverDown, LDAPConstant.timeout].contains(status) { throw failure(status) }
            // With GnuTLS, libldap has no words for a certificate that is not trusted.
            let reason = diagnosis.flatMap { $0.hasPrefix("(unknown") ? nil : $0 } ?? library.description(of: status)
            let message =
                "TLS cannot be started, and nothing is read without it: \(reason). Check the controller's certificate, its name, and whether "
                + "its authority is in \(authorities)."
            throw DirectoryError(.tlsFailed, subject: host, message: message)
        }
        var certificate = openldap_value()
        guard library.getOption(handle, LDAPConstant.optionTLSPeerCertificate, &certificate) == 0, let bytes = certificate.bytes else {
            return nil
        }
        defer { library.freeMemory(bytes) }
        return Array(UnsafeRawBufferPointer(start: bytes, count: Int(certificate.length)))
    }

    /// Signs in with a ticket for the controller (RFC 4513 section 5.2, mechanism `GSS-SPNEGO` of [MS-ADTS] section 5.1.1.1.2).
    ///
    /// - Parameters:
    ///   - isProtected: Whether TLS protects the connection. If not, all further messages are encrypted with the ticket's key.
    ///   - bindings: Those of the TLS connection.
    func signIn(with credential: InitiatorCredential, isProtected: Bool, bindings: ChannelBindings?) throws(DirectoryError) {
        let protection: ContextFlags = [.integrity, .confidentiality, .sequenceDetection, .replayDetection]
        let flags = (isProtected ? [] : protection).union(.mutualAuthentication)
        var step = try start(with: credential, flags, bindings)
        var isComplete = false
        while true {
            switch consume step {
            case .proceed(let token, let initiator):
                let reply = try send(token)
                isComplete = reply.isComplete
                guard let answer = reply.answer else { throw failure(LDAPConstant.invalidCredentials) }
                step = try advance(initiator, with: answer)
            case .established(let token, let context):
                if let token { isComplete = try send(token).isComplete }
                guard isComplete else { throw unfinished }
                if !isProtected { try protect(with: context) }
                return
            }
        }
    }

    private var unfinished: DirectoryError {
        DirectoryError(.refused, subject: host, message: "the controller did not finish the sign-in, although it accepted the ticket.")
    }

    /// Sends a token, and returns the controller's.
    private func send(_ token: [UInt8]) throws(DirectoryError) -> (answer: [UInt8]?, isComplete: Bool) {
        var token = token
        var reply: UnsafeMutablePointer<openldap_value>?
        let status = token.withUnsafeMutableBytes { bytes in
            var value = openldap_value(length: UInt(bytes.count), bytes: bytes.baseAddress?.assumingMemoryBound(to: CChar.self))
            return library.bind(handle, nil, "GSS-SPNEGO", &value, nil, nil, &reply)
        }
        defer { library.freeValue(reply) }
        guard status == LDAPConstant.success || status == LDAPConstant.bindInProgress else { throw failure(status) }
        let answer = reply.flatMap { $0.pointee.bytes == nil ? nil : $0.pointee }
        let bytes = answer.map { Array(UnsafeRawBufferPointer(start: $0.bytes, count: Int($0.length))) }
        return (bytes, status == LDAPConstant.success)
    }

    private func protect(with context: consuming EstablishedContext) throws(DirectoryError) {
        let layer = SecurityLayer(context)
        guard let sockbuf, layer.install(on: sockbuf, library) else {
            throw failure(LDAPConstant.serverDown)
        }
        self.layer = layer
    }

    /// The entries that a search finds. The search fails if there are more than a few.
    func entries(under base: String, _ scope: LDAPScope, filter: String, attributes: [String]) throws(DirectoryError) -> [LDAPEntry] {
        var names = attributes.map { strdup($0) } + [nil]
        defer { for name in names { free(name) } }
        var number: Int32 = 0
        let most = Int32(Self.mostEntries)
        let sent = library.search(handle, base, scope.rawValue, filter, &names, 0, nil, nil, &limit, most, &number)
        guard sent == LDAPConstant.success else { throw failure(sent) }
        var entries: [LDAPEntry] = []
        while true {
            var message: OpaquePointer?
            let kind = library.result(handle, number, LDAPConstant.oneMessage, &limit, &message)
            defer { _ = library.freeMessage(message) }
            guard kind > 0 else { throw failure(kind == 0 ? LDAPConstant.timeout : LDAPConstant.serverDown) }
            if kind == LDAPConstant.searchEntry, let entry = library.firstEntry(handle, message) { entries.append(contents(of: entry)) }
            guard entries.count <= Self.mostEntries else { throw failure(LDAPConstant.sizeLimitExceeded) }
            guard kind == LDAPConstant.searchResult else { continue }  // such as a reference to another domain
            var status = LDAPConstant.success
            let parsed = library.parseResult(handle, message, &status, nil, nil, nil, nil, 0)
            if status == LDAPConstant.noSuchObject { return [] }
            guard parsed == LDAPConstant.success, status == LDAPConstant.success else { throw failure(status) }
            return entries
        }
    }

    private func contents(of entry: OpaquePointer) -> LDAPEntry {
        var values: [String: String] = [:]
        var element: OpaquePointer?
        var next = library.firstAttribute(handle, entry, &element)
        while let name = next {
            if let list = library.values(handle, entry, name) {
                if let value = list.pointee?.pointee {
                    let bytes = UnsafeRawBufferPointer(start: value.bytes, count: Int(value.length))
                    values[String(cString: name)] = String(decoding: bytes, as: UTF8.self)
                }
                library.freeValues(list)
            }
            library.freeMemory(name)
            next = library.nextAttribute(handle, entry, element)
        }
        library.freeElement(element, 0)
        let name = library.distinguishedName(handle, entry)
        defer { library.freeMemory(name) }
        return LDAPEntry(distinguishedName: name.map { String(cString: $0) } ?? "", values: values)
    }
}

extension LDAPConversation {
    private func start(
        with credential: InitiatorCredential,
        _ flags: ContextFlags,
        _ bindings: ChannelBindings?
    ) throws(DirectoryError) -> InitiatorStep {
        do throws(KerberosError) {
            return try SPNEGOInitiator.begin(with: credential, flags: flags, channelBindings: bindings)
        } catch {
            throw DirectoryError(.noTicket, subject: host, message: error.message, cause: error)
        }
    }

    private func advance(_ initiator: consuming SPNEGOInitiator, with answer: [UInt8]) throws(DirectoryError) -> InitiatorStep {
        do throws(KerberosError) { return try initiator.step(answer) } catch {
            throw DirectoryError(.refused, subject: host, message: error.message, cause: error)
        }
    }

    /// The controller's own text for the last failure.
    private var diagnosis: String? {
        var text: UnsafeMutablePointer<CChar>?
        guard library.getOption(handle, LDAPConstant.optionDiagnosticMessage, &text) == 0, let text else { return nil }
        defer { library.freeMemory(text) }
        let words = String(cString: text).trimmingCharacters(in: .whitespacesAndNewlines.union(CharacterSet(["\0"])))
        return words.isEmpty ? nil : String(words.prefix(300)).escapedForDisplay()
    }

    private func failure(_ status: Int32) -> DirectoryError {
        let text = library.description(of: status)
        let reason = (handle == nil ? nil : diagnosis).map { "\(text) (\($0))" } ?? text
        switch status {
        case LDAPConstant.serverDown, LDAPConstant.timeout, LDAPConstant.connectError:
            return DirectoryError(.unreachable, subject: host, message: "the controller stopped answering: \(reason).")
        case LDAPConstant.strongerAuthenticationRequired, LDAPConstant.confidentialityRequired:
            let message =
                "the controller refuses sign-ins with a ticket over TLS, or demands TLS (requireTLSForLDAP in a profile). With Samba, set "
                + "“ldap server require strong auth = allow_sasl_over_tls”. It said: \(reason)."
            return DirectoryError(.refused, subject: host, message: message)
        case LDAPConstant.invalidCredentials, LDAPConstant.insufficientAccess:
            return DirectoryError(.refused, subject: host, message: "the controller refused the ticket: \(reason).")
        default:
            return DirectoryError(.other, subject: host, message: "the controller's directory failed: \(reason).")
        }
    }
}
