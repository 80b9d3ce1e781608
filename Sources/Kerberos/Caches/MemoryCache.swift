internal import CKerberos
internal import Synchronization

/// Owns a MEMORY cache with a unique name, and destroys it when deinitialized.
final class MemoryCache: Sendable {
    let name: CredentialCacheName

    /// Creates a cache of a principal, and fills it.
    init(
        of principal: Principal,
        context: Context,
        _ fill: (krb5_ccache) throws(KerberosError) -> Void
    ) throws(KerberosError) {
        var cache: krb5_ccache?
        try context.check(krb5_cc_new_unique(context.raw, "MEMORY", nil, &cache), .writeCache, subject: "MEMORY")
        guard let cache else { throw KerberosError(.cacheUnusable, subject: "MEMORY", message: "no credential cache can be created.") }
        do throws(KerberosError) {
            try principal.withRaw(in: context) { client throws(KerberosError) in
                try context.check(krb5_cc_initialize(context.raw, cache, client), .writeCache, subject: "MEMORY")
            }
            try fill(cache)
            name = try context.name(of: cache)
        } catch {
            krb5_cc_destroy(context.raw, cache)
            throw error
        }
        krb5_cc_close(context.raw, cache)
    }

    /// Creates a cache whose principal is the first ticket's client.
    convenience init(holding tickets: [Credential], context: Context) throws(KerberosError) {
        guard let first = tickets.first else { throw KerberosError(.noCredentials, subject: "MEMORY", message: "there is no ticket.") }
        try self.init(of: first.client, context: context) { cache throws(KerberosError) in
            for ticket in tickets { try Self.store(ticket, in: cache, context: context) }
        }
    }

    /// Creates a cache with another cache's tickets and clock offset.
    ///
    /// A context keeps the first offset that it reads, so the copy is made with a new context.
    convenience init(copying original: MemoryCache) throws(KerberosError) {
        let context = try Context(RealmConfiguration(realm: "", base: .none))
        let contents = try context.withCache(original.name) { cache throws(KerberosError) in try context.contents(of: cache) }
        try self.init(holding: contents.credentials, context: context)
    }

    /// Stores a ticket under the service's full name, which GSSAPI looks for; the requested name may differ.
    private static func store(_ credential: Credential, in cache: krb5_ccache, context: Context) throws(KerberosError) {
        try credential.withRaw(in: context) { raw throws(KerberosError) in
            try credential.server.withRaw(in: context) { server throws(KerberosError) in
                let asked = raw.pointee.server
                raw.pointee.server = server
                defer { raw.pointee.server = asked }
                try context.check(krb5_cc_store_cred(context.raw, cache, raw), .writeCache, subject: "MEMORY")
            }
        }
    }

    deinit { Self.destroy(name) }

    /// Destroys a MEMORY cache immediately: a deferred call could run during process exit, when libkrb5 destroys its locks.
    static func destroy(_ name: CredentialCacheName) {
        destroyer.withLock { context in
            guard !ProcessEnd.hasBegun, let context = try? context.get() else { return }
            var cache: krb5_ccache?
            if krb5_cc_resolve(context.raw, name.rawValue, &cache) == 0 { krb5_cc_destroy(context.raw, cache) }
        }
    }

    /// MEMORY caches belong to the process, so any context can destroy them; the realm's context may be waiting for an unreachable KDC.
    private static let destroyer = Mutex(
        Result { () throws(KerberosError) in try Context(RealmConfiguration(realm: "", base: .none)) }
    )
}

extension CredentialCacheName {
    /// Destroys the MEMORY cache of this name on the calling thread, without waiting for any realm. Does nothing for other types.
    package func destroyMemory() {
        if type == "MEMORY" { MemoryCache.destroy(self) }
    }
}
