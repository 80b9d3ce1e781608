/// Finds credentials by their server, so that no search goes through a whole cache.
///
/// Three keys for each: client and server, as libkrb5 looks for tickets; the server's components, for a pattern that leaves out the client
/// or the realm; and all that ``MarshalledCredential/repeats(_:)`` compares. A service that acts for ten thousand users has ten thousand
/// tickets for itself, so the client is in a key.
/// Only hashes are kept. Two keys with one hash cost a comparison; the seed is new in each process, so nobody can choose them.
struct CredentialIndex {
    /// Serial numbers in ascending order.
    private var serials: [Int: [UInt64]] = [:]

    mutating func insert(_ credential: MarshalledCredential, serial: UInt64) {
        for key in Self.keys(of: credential) { serials[key, default: []].append(serial) }
    }

    mutating func remove(_ credential: MarshalledCredential, serial: UInt64) {
        for key in Self.keys(of: credential) {
            guard let position = serials[key]?.position(of: serial) else { continue }
            serials[key]?.remove(at: position)
            if serials[key]?.isEmpty == true { serials[key] = nil }
        }
    }

    /// The serial numbers of those that may match, in ascending order; nil where a pattern names no server.
    func candidates(for pattern: CredentialPattern) -> [UInt64]? {
        guard let server = pattern.server else { return nil }
        guard pattern.comparesServerRealm, let client = pattern.client else { return serials[Self.componentsKey(server)] ?? [] }
        return serials[Self.pairKey(client, server)] ?? []
    }

    /// The serial numbers of those that a credential may repeat.
    func candidates(like credential: MarshalledCredential) -> [UInt64] { serials[Self.repetitionKey(credential)] ?? [] }

    private static func keys(of credential: MarshalledCredential) -> [Int] {
        let server = credential.server
        return [pairKey(credential.client, server), componentsKey(server), repetitionKey(credential)]
    }

    private static func pairKey(_ client: MarshalledPrincipal, _ server: MarshalledPrincipal) -> Int {
        hash(0, server.identity, client.identity)
    }
    private static func componentsKey(_ server: MarshalledPrincipal) -> Int { hash(1, server.components, []) }
    /// Of the fields that ``MarshalledCredential/repeats(_:)`` compares.
    private static func repetitionKey(_ credential: MarshalledCredential) -> Int {
        var hasher = Hasher()
        hasher.combine(pairKey(credential.client, credential.server))
        hasher.combine(credential.isSessionKey)
        hasher.combine(credential.encryptionType)
        hasher.combine(credential.secondTicket)
        hasher.combine(credential.authorizationData)
        return hasher.finalize()
    }

    private static func hash(_ kind: UInt8, _ one: ArraySlice<UInt8>, _ other: ArraySlice<UInt8>) -> Int {
        var hasher = Hasher()
        hasher.combine(kind)
        hasher.combine(one)
        hasher.combine(other)
        return hasher.finalize()
    }
}

extension [UInt64] {
    /// Where a number is in an ascending list.
    func position(of number: UInt64) -> Int? {
        var range = startIndex..<endIndex
        while let middle = range.isEmpty ? nil : range.lowerBound + range.count / 2 {
            if self[middle] == number { return middle }
            range = self[middle] < number ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return nil
    }
}
