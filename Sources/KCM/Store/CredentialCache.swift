/// One credential cache: its principal, its credentials, and its clock offset.
package struct CredentialCache: Sendable {
    package internal(set) var name: CacheName
    package internal(set) var principal: MarshalledPrincipal
    package internal(set) var clockOffset: Int32 = 0
    /// The time of the last write, in seconds since 1970 by this machine's clock.
    var written: UInt32 = 0
    let identifier = Identifier(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
    /// The first half of each credential's identifier. The second half is the credential's serial number.
    private let credentialTag = UInt64.random(in: .min ... .max)
    var list = CredentialList()

    init(name: CacheName, principal: MarshalledPrincipal) {
        self.name = name
        self.principal = principal
    }

    /// The credentials in the order in which they were stored.
    package var credentials: [MarshalledCredential] { list.all.map(\.credential) }

    /// The estimated memory of the cache.
    var cost: Int { Self.cost(name: name, principal: principal, credentials: list.count, bytes: list.byteCount) }

    /// The estimated overhead of a credential: three entries in the index, with the dictionary and array storage.
    static let costOfCredential = 400

    static func cost(name: CacheName, principal: MarshalledPrincipal, credentials: Int, bytes: Int) -> Int {
        1024 + name.bytes.count + principal.bytes.count + credentials * costOfCredential + bytes
    }

    func identifier(of serial: UInt64) -> Identifier { Identifier(high: credentialTag, low: serial) }

    subscript(identifier: Identifier) -> MarshalledCredential? { identifier.high == credentialTag ? list[identifier.low] : nil }

    /// Returns the serial numbers of the tickets that have expired at a time of this machine's clock.
    func expired(now: UInt32) -> [UInt64] { list.expired(at: time(at: now)) }

    /// Converts a time of this machine's clock to the KDC's clock.
    func time(at now: UInt32) -> Int64 { Int64(now) + Int64(clockOffset) }

    /// The last time at which one of the tickets can be used or renewed, by this machine's clock; nil if a ticket has no end. For a cache
    /// without tickets, the time of the last write.
    var endOfLife: Int64? {
        var end: Int64?
        for (_, credential) in list.all where !credential.server.isConfiguration {
            guard let life = credential.endOfLife else { return nil }
            end = max(end ?? .min, Int64(life) - Int64(clockOffset))
        }
        return end ?? Int64(written)
    }

    /// Returns the value of a configuration entry, such as libkrb5's `pa_type`; nil if there is none.
    package func setting(_ key: String) -> ArraySlice<UInt8>? {
        var components = ByteWriter()
        components.writeCounted(Array("krb5_ccache_conf_data".utf8))
        components.writeCounted(Array(key.utf8))
        let wanted = components.bytes
        return list.all.first { $0.credential.server.isConfiguration && $0.credential.server.components.elementsEqual(wanted) }?
            .credential.ticket
    }

    mutating func empty(for principal: MarshalledPrincipal) {
        self.principal = principal.detached()
        clockOffset = 0
        list.removeAll()
    }

    mutating func store(_ credential: MarshalledCredential, replacing serial: UInt64?) {
        if let serial { list.remove(serial) }
        list.append(credential)
    }

    mutating func replace(by replacement: Replacement) {
        empty(for: replacement.principal)
        clockOffset = replacement.clockOffset
        for credential in replacement.credentials {
            var examined = 0
            store(credential, replacing: list.serial(repeatedBy: credential, examined: &examined))
        }
    }
}
