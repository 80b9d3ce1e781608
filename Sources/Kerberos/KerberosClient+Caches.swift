internal import CKerberos

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension KerberosClient {
    /// The default cache: ``RealmConfiguration/defaultCacheName``, else `KRB5CCNAME`, krb5.conf or the library's own (`krb5_cc_default`).
    public func defaultCacheName() async throws(KerberosError) -> CredentialCacheName {
        try await perform { context throws(KerberosError) in
            // The name is enough: opening a KCM cache would need its daemon.
            guard let name = krb5_cc_default_name(context.raw) else {
                throw KerberosError(.cacheUnusable, subject: "default cache", message: "the default cache has no name. Set KRB5CCNAME.")
            }
            return CredentialCacheName(rawValue: String(cString: name))
        }
    }

    /// The caches that the default cache's collection holds (`krb5_cccol_cursor_next`), the primary one first.
    public func cacheNames() async throws(KerberosError) -> [CredentialCacheName] {
        try await perform { context throws(KerberosError) in
            var cursor: krb5_cccol_cursor?
            try context.check(krb5_cccol_cursor_new(context.raw, &cursor), .readCache, subject: "credential caches")
            defer { krb5_cccol_cursor_free(context.raw, &cursor) }
            var names: [CredentialCacheName] = []
            while true {
                var cache: krb5_ccache?
                try context.check(krb5_cccol_cursor_next(context.raw, cursor, &cache), .readCache, subject: "credential caches")
                guard let cache else { return names }
                defer { krb5_cc_close(context.raw, cache) }
                names.append(try context.name(of: cache))
            }
        }
    }

    /// Whether a type of cache can hold several caches side by side (`krb5_cc_support_switch`).
    public func supportsCollections(_ name: CredentialCacheName) async throws(KerberosError) -> Bool {
        try await perform { context in krb5_cc_support_switch(context.raw, name.type) != 0 }
    }

    /// Reads a cache.
    ///
    /// - Throws: ``KerberosError``; `noCredentials` when it is not there or empty, `cacheCorrupt` when it is no cache.
    public func contents(of name: CredentialCacheName) async throws(KerberosError) -> CredentialCacheContents {
        try await perform { context throws(KerberosError) in
            try context.contentsAndClock(of: name)
        }
    }

    /// Reads a cache, and keeps no service ticket of it.
    ///
    /// - Throws: as ``contents(of:)``.
    package func listing(of name: CredentialCacheName) async throws(KerberosError) -> CredentialCacheListing {
        try await perform { context throws(KerberosError) in
            try context.listingAndClock(of: name)
        }
    }

    /// The last ticket of a cache that is for a client and that the body takes by its service's name and its times; nil where there is
    /// none.
    ///
    /// - Throws: as ``contents(of:)``.
    package func ticket(
        in name: CredentialCacheName,
        for client: Principal,
        where isWanted: @escaping @Sendable (Principal, TicketTimes) -> Bool
    ) async throws(KerberosError) -> Credential? {
        try await perform { context throws(KerberosError) in
            try context.withCache(name) { cache throws(KerberosError) in
                try context.lastCredential(in: cache, for: client, where: isWanted)
            }
        }
    }

    /// A name for a new cache in the collection of a type that has collections (`krb5_cc_new_unique`). The cache is made by
    /// ``replace(_:principal:credentials:marks:)``.
    public func newCacheName(type: String) async throws(KerberosError) -> CredentialCacheName {
        try await perform { context throws(KerberosError) in
            var cache: krb5_ccache?
            try context.check(krb5_cc_new_unique(context.raw, type, nil, &cache), .writeCache, subject: type)
            guard let cache else { throw KerberosError(.cacheUnusable, subject: type, message: "no new cache can be made.") }
            defer { krb5_cc_close(context.raw, cache) }
            return try context.name(of: cache)
        }
    }

    /// Puts a principal, tickets and marks in the place of what a cache held.
    ///
    /// A cache that is a file is written beside and renamed, so that a reader sees the old content or the new, never none.
    public func replace(
        _ name: CredentialCacheName,
        principal: Principal,
        credentials: [Credential],
        marks: [String: String] = [:]
    ) async throws(KerberosError) {
        try await replace(name, principal: principal, credentials: credentials, marks: marks, clockOffset: nil)
    }

    /// The same for tickets that come from another cache, with its KDC's clock: in seconds by which it is ahead; nil is what this client
    /// knows.
    package func replace(
        _ name: CredentialCacheName,
        principal: Principal,
        credentials: [Credential],
        marks: [String: String] = [:],
        clockOffset: Double?
    ) async throws(KerberosError) {
        try await perform { context throws(KerberosError) in
            try context.withClock(offset: clockOffset) { () throws(KerberosError) in
                try Self.replace(name, principal: principal, credentials: credentials, marks: marks, context: context)
            }
        }
    }

    static func replace(
        _ name: CredentialCacheName,
        principal: Principal,
        credentials: [Credential],
        marks: [String: String],
        context: Context
    ) throws(KerberosError) {
        guard let path = name.path else {
            return try context.fill(name, principal: principal, credentials: credentials, marks: marks)
        }
        let draft = CredentialCacheName(rawValue: "FILE:\(draftPath(beside: path))")
        do throws(KerberosError) {
            try context.fill(draft, principal: principal, credentials: credentials, marks: marks)
            guard rename(draft.residual, path) == 0 else {
                let reason = String(cString: strerror(errno))
                throw KerberosError(.cacheUnusable, subject: path, message: "the credential cache can't be written (\(reason)).")
            }
        } catch {
            unlink(draft.residual)
            throw error.about(path)
        }
    }

    /// A hidden file in the same folder: in a DIR collection a name that begins with `tkt` would count as a cache.
    private static func draftPath(beside path: String) -> String {
        let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        return "\(path[..<start]).\(path[start...]).\(UInt64.random(in: .min ... .max))"
    }

    /// Adds a ticket to a cache (`krb5_cc_store_cred`).
    public func store(_ credential: Credential, in name: CredentialCacheName) async throws(KerberosError) {
        try await perform { context throws(KerberosError) in
            try context.withCache(name) { cache throws(KerberosError) in try context.store(credential, in: cache) }
        }
    }

    /// Leaves a mark in a cache, beside its tickets (`krb5_cc_set_config`).
    public func setMark(_ key: String, to value: String, in name: CredentialCacheName) async throws(KerberosError) {
        try await perform { context throws(KerberosError) in
            try context.withCache(name) { cache throws(KerberosError) in try context.setMark(key, to: value, in: cache) }
        }
    }

    /// Removes a cache and its tickets (`krb5_cc_destroy`). One that is not there is no fault.
    public func destroy(_ name: CredentialCacheName) async throws(KerberosError) {
        try await perform { context throws(KerberosError) in
            var cache: krb5_ccache?
            try context.check(krb5_cc_resolve(context.raw, name.rawValue, &cache), .writeCache, subject: name.rawValue)
            let status = krb5_cc_destroy(context.raw, cache)
            if Int(status) != Int(KRB5_FCC_NOFILE) { try context.check(status, .writeCache, subject: name.rawValue) }
        }
    }

    /// Makes a cache the primary one of its collection (`krb5_cc_switch`). A type with no collections has nothing to switch.
    public func makePrimary(_ name: CredentialCacheName) async throws(KerberosError) {
        try await perform { context throws(KerberosError) in
            try context.withCache(name) { cache throws(KerberosError) in
                try context.check(krb5_cc_switch(context.raw, cache), .writeCache, subject: name.rawValue)
            }
        }
    }
}
