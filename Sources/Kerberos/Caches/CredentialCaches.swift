internal import CKerberos

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension KerberosClient {
    /// The default cache (`krb5_cc_default_name`): ``RealmConfiguration/defaultCacheName``, else `KRB5CCNAME`, krb5.conf or built-in.
    public func defaultCacheName() async throws(KerberosError) -> CredentialCacheName {
        try await perform { context throws(KerberosError) in
            // The name is enough: opening a KCM cache would require its server.
            guard let name = krb5_cc_default_name(context.raw) else {
                throw KerberosError(
                    .cacheUnusable,
                    subject: "default cache",
                    message: "no default credential cache is configured. Set KRB5CCNAME."
                )
            }
            return CredentialCacheName(rawValue: String(cString: name))
        }
    }

    /// The caches in the default cache's collection (`krb5_cccol_cursor_next`), the primary cache first.
    public func cacheNames() async throws(KerberosError) -> [CredentialCacheName] {
        try await perform(on: try await defaultCacheName()) { context throws(KerberosError) in
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

    /// Whether a cache type supports collections (`krb5_cc_support_switch`).
    public func supportsCollections(_ name: CredentialCacheName) async throws(KerberosError) -> Bool {
        try await perform { context in krb5_cc_support_switch(context.raw, name.type) != 0 }
    }

    /// Reads a cache.
    ///
    /// - Throws: ``KerberosError``; `noCredentials` if the cache is missing or empty, `cacheCorrupt` if it is damaged.
    public func contents(of name: CredentialCacheName) async throws(KerberosError) -> CredentialCacheContents {
        try await perform(on: name) { context throws(KerberosError) in
            try context.contentsAndClock(of: name)
        }
    }

    /// Reads a cache without keeping its service tickets.
    ///
    /// - Throws: as ``contents(of:)``.
    package func listing(of name: CredentialCacheName) async throws(KerberosError) -> CredentialCacheListing {
        try await perform(on: name) { context throws(KerberosError) in
            try context.listingAndClock(of: name)
        }
    }

    /// The last ticket in a cache that belongs to the client and whose service name and times satisfy the predicate; nil if there is none.
    ///
    /// - Throws: as ``contents(of:)``.
    package func ticket(
        in name: CredentialCacheName,
        for client: Principal,
        where isWanted: @escaping @Sendable (Principal, TicketTimes) -> Bool
    ) async throws(KerberosError) -> Credential? {
        try await perform(on: name) { context throws(KerberosError) in
            try context.withCache(name) { cache throws(KerberosError) in
                try context.lastCredential(in: cache, for: client, where: isWanted)
            }
        }
    }

    /// A name for a new cache in the collection of a cache type (`krb5_cc_new_unique`). Initialize the cache with
    /// ``replace(_:principal:credentials:marks:)``.
    public func newCacheName(type: String) async throws(KerberosError) -> CredentialCacheName {
        try await perform(on: CredentialCacheName(rawValue: "\(type):")) { context throws(KerberosError) in
            var cache: krb5_ccache?
            try context.check(krb5_cc_new_unique(context.raw, type, nil, &cache), .writeCache, subject: type)
            guard let cache else { throw KerberosError(.cacheUnusable, subject: type, message: "no new credential cache can be created.") }
            defer { krb5_cc_close(context.raw, cache) }
            return try context.name(of: cache)
        }
    }

    /// Replaces a cache's principal, tickets and configuration entries.
    ///
    /// A cache that is a file is written to a temporary file and renamed, so that readers see either the old or the new contents, never
    /// none.
    public func replace(
        _ name: CredentialCacheName,
        principal: Principal,
        credentials: [Credential],
        marks: [String: String] = [:]
    ) async throws(KerberosError) {
        try await replace(name, principal: principal, credentials: credentials, marks: marks, clockOffset: nil)
    }

    /// Replaces a cache's contents with tickets from another cache, and sets the KDC's clock offset.
    ///
    /// - Parameter clockOffset: In seconds, positive if the KDC is ahead; nil uses the offset that this client has learned.
    package func replace(
        _ name: CredentialCacheName,
        principal: Principal,
        credentials: [Credential],
        marks: [String: String] = [:],
        clockOffset: Double?
    ) async throws(KerberosError) {
        try await perform(on: name) { context throws(KerberosError) in
            try context.withClock(offset: clockOffset) { () throws(KerberosError) in
                try Self.replace(name, principal: principal, credentials: credentials, marks: marks, context: context)
            }
        }
    }

    /// Reads and rewrites a cache in one call, so that no other call of this client comes between.
    ///
    /// - Parameter change: Changes the contents. Returns false to leave the cache as it is.
    /// - Returns: Whether the cache was rewritten.
    package func rewrite(
        _ name: CredentialCacheName,
        _ change: @escaping @Sendable (inout CredentialCacheContents) -> Bool
    ) async throws(KerberosError) -> Bool {
        try await perform(on: name) { context throws(KerberosError) in
            var contents = try context.contentsAndClock(of: name)
            guard change(&contents) else { return false }
            let new = contents
            try context.withClock(offset: new.clockOffset) { () throws(KerberosError) in
                let credentials = new.credentials + new.notes
                try Self.replace(name, principal: new.principal, credentials: credentials, marks: new.marks, context: context)
            }
            return true
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
        try CacheFileOwnership.checkFolder(of: name)
        let draft = CredentialCacheName(rawValue: "FILE:\(draftPath(nextTo: path))")
        do throws(KerberosError) {
            try context.fill(draft, principal: principal, credentials: credentials, marks: marks)
            guard rename(draft.residual, path) == 0 else {
                let reason = String(cString: strerror(errno))
                throw KerberosError(.cacheUnusable, subject: path, message: "the credential cache cannot be written (\(reason)).")
            }
        } catch {
            unlink(draft.residual)
            throw error.about(path)
        }
    }

    /// A hidden file in the same directory: in a DIR collection, a name that begins with `tkt` would count as a cache.
    private static func draftPath(nextTo path: String) -> String {
        let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        return "\(path[..<start]).\(path[start...]).\(UInt64.random(in: .min ... .max))"
    }

    /// Adds a ticket to a cache (`krb5_cc_store_cred`).
    public func store(_ credential: Credential, in name: CredentialCacheName) async throws(KerberosError) {
        try await perform(on: name) { context throws(KerberosError) in
            try context.withCache(name) { cache throws(KerberosError) in try context.store(credential, in: cache) }
        }
    }

    /// Stores a configuration entry in a cache (`krb5_cc_set_config`).
    public func setMark(_ key: String, to value: String, in name: CredentialCacheName) async throws(KerberosError) {
        try await perform(on: name) { context throws(KerberosError) in
            try context.withCache(name) { cache throws(KerberosError) in try context.setMark(key, to: value, in: cache) }
        }
    }

    /// Removes a cache and its tickets (`krb5_cc_destroy`). A missing cache is not an error.
    public func destroy(_ name: CredentialCacheName) async throws(KerberosError) {
        try await perform(on: name) { context throws(KerberosError) in
            var cache: krb5_ccache?
            try context.check(krb5_cc_resolve(context.raw, name.rawValue, &cache), .writeCache, subject: name.rawValue)
            let status = krb5_cc_destroy(context.raw, cache)
            if Int(status) != Int(KRB5_FCC_NOFILE) { try context.check(status, .writeCache, subject: name.rawValue) }
        }
    }

    /// Makes a cache the primary cache of its collection (`krb5_cc_switch`). Does nothing for types without collections.
    public func makePrimary(_ name: CredentialCacheName) async throws(KerberosError) {
        try await perform(on: name) { context throws(KerberosError) in
            try context.withCache(name) { cache throws(KerberosError) in
                try context.check(krb5_cc_switch(context.raw, cache), .writeCache, subject: name.rawValue)
            }
        }
    }
}

extension Context {
    /// Opens a cache by name for the duration of the call, after checking that its file belongs to the user, or is safe as armor.
    func withCache<Value>(
        _ name: CredentialCacheName,
        isArmor: Bool = false,
        _ body: (krb5_ccache) throws(KerberosError) -> Value
    ) throws(KerberosError) -> Value {
        try isArmor ? checkOwnership(ofArmor: name) : CacheFileOwnership.check(name)
        var cache: krb5_ccache?
        try check(krb5_cc_resolve(raw, name.rawValue, &cache), .readCache, subject: name.rawValue)
        guard let cache else {
            throw KerberosError(.cacheUnusable, subject: name.rawValue, message: "the credential cache cannot be opened.")
        }
        defer { krb5_cc_close(raw, cache) }
        return try body(cache)
    }

    /// The full name, type included.
    func name(of cache: krb5_ccache) throws(KerberosError) -> CredentialCacheName {
        var text: UnsafeMutablePointer<CChar>?
        try check(krb5_cc_get_full_name(raw, cache, &text), .readCache, subject: "credential cache")
        defer { krb5_free_string(raw, text) }
        return CredentialCacheName(rawValue: text.map { String(cString: $0) } ?? "")
    }

    func principal(of cache: krb5_ccache) throws(KerberosError) -> Principal {
        var principal: krb5_principal?
        let name = try name(of: cache)
        let subject = name.rawValue
        let status = krb5_cc_get_principal(raw, cache, &principal)
        // kinit leaves a file without even a principal in a DIR collection when it fails.
        let isEmpty = Int(status) == Int(KRB5_CC_END) && name.path.map { FileCacheLayout.isWhole($0) } != false
        if !isEmpty { try check(status, .readCache, subject: subject) }
        guard let principal else {
            let message = "the credential cache is empty, as a failed kinit leaves it. Sign in first."
            throw KerberosError(.noCredentials, subject: subject, message: message)
        }
        defer { krb5_free_principal(raw, principal) }
        return try Principal(copying: principal, context: self)
    }

    func contents(of cache: krb5_ccache) throws(KerberosError) -> CredentialCacheContents {
        let name = try name(of: cache)
        let principal = try principal(of: cache)
        var credentials: [Credential] = []
        var marks: [String: String] = [:]
        var notes: [Credential] = []
        try forEachCredential(in: cache) { (raw: inout krb5_creds) throws(KerberosError) in
            if krb5_is_config_principal(self.raw, raw.server) == 0 {
                credentials.append(try Credential(copying: &raw, context: self))
            } else if let (key, value) = mark(in: raw) {
                marks[key] = value
            } else {
                notes.append(try Credential(copying: &raw, context: self))
            }
        }
        return CredentialCacheContents(name: name, principal: principal, credentials: credentials, marks: marks, notes: notes)
    }

    func listing(of cache: krb5_ccache) throws(KerberosError) -> CredentialCacheListing {
        var listing = CredentialCacheListing(name: try name(of: cache), principal: try principal(of: cache))
        try forEachCredential(in: cache) { (raw: inout krb5_creds) throws(KerberosError) in
            if krb5_is_config_principal(self.raw, raw.server) != 0 {
                if let (key, value) = mark(in: raw) { listing.marks[key] = value }
                return
            }
            let client = try Principal(copying: raw.client, context: self)
            let ticket = CredentialCacheListing.Ticket(
                server: try Credential.server(of: raw, context: self),
                isOwn: client == listing.principal,
                expires: TicketTimes(raw.times).expires
            )
            let isTicketGranting =
                ticket.isOwn && !raw.needsValidation && ticket.server.isTicketGrantingService(of: listing.principal.realm)
            if isTicketGranting { listing.ticketGrantingTicket = try Credential(copying: &raw, context: self) }
            listing.tickets.append(ticket)
        }
        return listing
    }

    /// Calls the body for each entry of a cache, and throws if the cache is a truncated file.
    func forEachCredential(
        in cache: krb5_ccache,
        _ body: (inout krb5_creds) throws(KerberosError) -> Void
    ) throws(KerberosError) {
        try forEachEntry(in: cache, body)
        let name = try name(of: cache)
        if let path = name.path, !FileCacheLayout.isWhole(path) {
            throw KerberosError.library(krb5_error_code(KRB5_CC_FORMAT), .readCache, subject: name.rawValue, context: nil)
        }
    }

    /// Calls the body for each entry of a cache from its beginning: tickets and configuration entries. A truncated file ends early.
    func forEachEntry(
        in cache: krb5_ccache,
        _ body: (inout krb5_creds) throws(KerberosError) -> Void
    ) throws(KerberosError) {
        let name = try name(of: cache)
        var cursor: krb5_cc_cursor?
        try check(krb5_cc_start_seq_get(raw, cache, &cursor), .readCache, subject: name.rawValue)
        defer { krb5_cc_end_seq_get(raw, cache, &cursor) }
        while true {
            var credential = krb5_creds()
            let status = krb5_cc_next_cred(raw, cache, &cursor, &credential)
            if Int(status) == Int(KRB5_CC_END) { break }
            try check(status, .readCache, subject: name.rawValue)
            defer { krb5_free_cred_contents(raw, &credential) }
            try body(&credential)
        }
    }

    /// Reads a configuration entry of the whole cache: `krb5_ccache_conf_data/KEY@X-CACHECONF:`, with its value in place of the ticket.
    private func mark(in credential: krb5_creds) -> (key: String, value: String)? {
        let server = credential.server.pointee
        guard server.length == 2 else { return nil }
        return (String(copying: server.data[1]), String(copying: credential.ticket))
    }

    /// Replaces a cache's principal, tickets and configuration entries.
    ///
    /// If the type allows it, readers see the old or the new contents, never a part: `krb5_cc_move` sends KCM everything in one request.
    func fill(
        _ name: CredentialCacheName,
        principal: Principal,
        credentials: [Credential],
        marks: [String: String]
    ) throws(KerberosError) {
        try withCache(name) { cache throws(KerberosError) in
            // A temporary file has no readers, and copying from one MEMORY cache to another gains nothing.
            guard !["FILE", "MEMORY"].contains(name.type) else {
                return try fill(cache, principal: principal, credentials: credentials, marks: marks)
            }
            var draft: krb5_ccache?
            try check(krb5_cc_new_unique(raw, "MEMORY", nil, &draft), .writeCache, subject: name.rawValue)
            guard let draft else {
                throw KerberosError(.cacheUnusable, subject: name.rawValue, message: "no credential cache can be created.")
            }
            do throws(KerberosError) {
                try fill(draft, principal: principal, credentials: credentials, marks: marks)
                try check(krb5_cc_move(raw, draft, cache), .writeCache, subject: name.rawValue)
            } catch {
                // krb5_cc_move destroys the draft only if it succeeds.
                krb5_cc_destroy(raw, draft)
                throw error.about(name.rawValue)
            }
        }
    }

    private func fill(
        _ cache: krb5_ccache,
        principal: Principal,
        credentials: [Credential],
        marks: [String: String]
    ) throws(KerberosError) {
        let subject = try name(of: cache).rawValue
        try principal.withRaw(in: self) { client throws(KerberosError) in
            try check(krb5_cc_initialize(raw, cache, client), .writeCache, subject: subject)
        }
        for (key, value) in marks.sorted(by: { $0.key < $1.key }) { try setMark(key, to: value, in: cache) }
        for credential in credentials { try store(credential, in: cache) }
    }

    func store(_ credential: Credential, in cache: krb5_ccache) throws(KerberosError) {
        let subject = try name(of: cache).rawValue
        try credential.withRaw(in: self) { raw throws(KerberosError) in
            try check(krb5_cc_store_cred(self.raw, cache, raw), .writeCache, subject: subject)
        }
    }

    func setMark(_ key: String, to value: String, in cache: krb5_ccache) throws(KerberosError) {
        let subject = try name(of: cache).rawValue
        let bytes = Array(value.utf8CString)
        let status = bytes.withUnsafeBufferPointer { buffer in
            var data = krb5_data()
            data.length = UInt32(buffer.count - 1)
            data.data = UnsafeMutablePointer(mutating: buffer.baseAddress)
            return krb5_cc_set_config(raw, cache, nil, key, &data)
        }
        try check(status, .writeCache, subject: subject)
    }
}
