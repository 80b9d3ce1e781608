internal import CKerberos

/// One service ticket, ready to make tokens: kept in a MEMORY cache of its own under a held GSSAPI credential.
///
/// Making a token touches neither the network nor a file, and costs the same however many tickets the user has, since libkrb5 has only
/// this one to look through. Use it from any thread, and from several at once.
public final class InitiatorCredential: Sendable {
    /// Whose ticket it is.
    public let client: Principal
    /// For which service it is.
    public let server: Principal
    /// When it holds.
    public let times: TicketTimes
    let handle: GSSCredentialHandle
    let target: GSSName
    private let cache: MemoryCache

    init(_ credential: Credential, context: Context) throws(KerberosError) {
        client = credential.client
        server = credential.server
        times = credential.times
        // With KRB5_CLIENT_KTNAME set GSSAPI would go to the KDC by itself for a ticket that ends soon, from whatever thread: it gets none.
        // Made by the realm's own context: that is how the KDC's clock offset reaches GSSAPI.
        cache = try MemoryCache(holding: credential, context: context)
        handle = try GSSCredentialHandle(
            usage: GSS_C_INITIATE,
            store: [("ccache", cache.name.rawValue), ("client_keytab", "MEMORY:none")],
            subject: credential.server.description
        )
        target = try GSSName(principal: credential.server)
    }
}

extension KerberosClient {
    /// Makes a credential that makes tokens from one service ticket.
    ///
    /// - Parameters:
    ///   - ticket: the service ticket.
    ///   - cache: where the ticket comes from. The KDC's clock offset is kept there, and a token without it would carry this machine's time.
    public func initiatorCredential(for ticket: Credential, from cache: CredentialCacheName? = nil) async throws(KerberosError)
        -> InitiatorCredential
    {
        try await perform { context throws(KerberosError) in
            // Reading the principal, not opening alone, is what makes libkrb5 take the offset over.
            if let cache { try context.withCache(cache) { raw throws(KerberosError) in _ = try context.principal(of: raw) } }
            return try InitiatorCredential(ticket, context: context)
        }
    }
}

/// Owns an imported name.
///
/// `@unchecked Sendable`: a name is not changed after it was imported.
final class GSSName: @unchecked Sendable {
    let raw: gss_name_t

    init(principal: Principal) throws(KerberosError) {
        var minor: OM_uint32 = 0
        var name: gss_name_t?
        let bytes = Array(principal.description.utf8)
        let major = bytes.withUnsafeBytes { bytes in
            var buffer = gss_buffer_desc()
            buffer.length = bytes.count
            buffer.value = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
            return gss_import_name(&minor, &buffer, ckerberos_nt_krb5_principal(), &name)
        }
        guard ckerberos_gss_is_error(major) == 0, let name else { throw .gss(major, minor, subject: principal.description) }
        raw = name
    }

    deinit {
        var minor: OM_uint32 = 0
        var raw: gss_name_t? = raw
        gss_release_name(&minor, &raw)
    }
}
