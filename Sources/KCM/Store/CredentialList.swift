/// The credentials of one cache in the order in which they were stored.
///
/// Each has a serial number that is never reused, so an iteration by serial numbers can continue however the list changes.
struct CredentialList {
    /// The serial numbers in ascending order, and at the same positions the credentials; nil if a credential was removed.
    private var serials: [UInt64] = []
    private var slots: [MarshalledCredential?] = []
    private var index = CredentialIndex()
    private var expiries = ExpiryQueue()
    /// The serial number of the next credential.
    private(set) var nextSerial: UInt64 = 1
    private(set) var count = 0
    /// The total length of the credentials.
    private(set) var byteCount = 0

    /// All credentials with their serial numbers.
    var all: some Sequence<(serial: UInt64, credential: MarshalledCredential)> {
        zip(serials, slots).lazy.compactMap { serial, credential in credential.map { (serial, $0) } }
    }

    subscript(serial: UInt64) -> MarshalledCredential? { serials.position(of: serial).flatMap { slots[$0] } }

    mutating func append(_ credential: MarshalledCredential) {
        serials.append(nextSerial)
        slots.append(credential)
        index.insert(credential, serial: nextSerial)
        if let end = credential.expiry { expiries.insert(nextSerial, end: end) }
        nextSerial += 1
        count += 1
        byteCount += credential.bytes.count
    }

    mutating func remove(_ serial: UInt64) {
        guard let position = serials.position(of: serial), var credential = slots[position] else { return }
        slots[position] = nil
        index.remove(credential, serial: serial)
        count -= 1
        byteCount -= credential.bytes.count
        credential.wipe()
        tidyExpiries()
        // More than half of the positions are empty. Closing the gaps then costs one move per removal on average.
        guard slots.count > 16, count < slots.count / 2 else { return }
        serials = zip(serials, slots).compactMap { $1 == nil ? nil : $0 }
        slots.removeAll { $0 == nil }
    }

    /// Drops entries of removed tickets from the queue: those at its front, and all of them once they are more than half.
    private mutating func tidyExpiries() {
        while let first = expiries.first, self[first] == nil { expiries.removeFirst() }
        guard expiries.count > 16 + 2 * count else { return }
        expiries = ExpiryQueue()
        for (serial, credential) in all { if let end = credential.expiry { expiries.insert(serial, end: end) } }
    }

    /// Returns the serial numbers of the tickets that have expired at a time of the KDC's clock, in ascending order.
    func expired(at time: Int64) -> [UInt64] {
        expiries.serials(endingBefore: time - MarshalledCredential.clockTolerance).filter { self[$0] != nil }.sorted()
    }

    /// Removes all credentials; serial numbers continue.
    mutating func removeAll() {
        let serial = nextSerial
        wipe()
        self = CredentialList()
        nextSerial = serial
    }

    /// Overwrites all credentials; the list is unusable afterwards.
    mutating func wipe() {
        for position in slots.indices { slots[position]?.wipe() }
    }

    /// The result of a search.
    enum SearchResult {
        case found(MarshalledCredential)
        case notFound
        /// The search reached its limit.
        case unknown
    }

    /// The number of credentials that one search examines. libkrb5's patterns contain client and server, so the index
    /// finds the few candidates. Only other patterns reach the limit, which keeps them from delaying other clients.
    static let searchLimit = 1000

    /// Returns the first match, as a search of a cache file would.
    func first(matching pattern: CredentialPattern, examined: inout Int) -> SearchResult {
        for serial in candidates(for: pattern) {
            guard examined < Self.searchLimit else { return .unknown }
            examined += 1
            guard let credential = self[serial] else { continue }
            if pattern.matches(credential) { return .found(credential) }
        }
        return .notFound
    }

    /// The number of matches that ``serials(matching:in:examined:)`` returns, because other users wait while they are overwritten.
    static let matchLimit = 64

    /// Returns the serial numbers of the matches in a range, and the one at which to continue if the search has reached a limit.
    func serials(matching pattern: CredentialPattern, in range: Range<UInt64>, examined: inout Int) -> (found: [UInt64], next: UInt64?) {
        let candidates = candidates(for: pattern)
        var found: [UInt64] = []
        for serial in candidates[candidates.firstPosition(atLeast: range.lowerBound)...] {
            guard serial < range.upperBound else { break }
            guard examined < Self.searchLimit, found.count < Self.matchLimit else { return (found, serial) }
            examined += 1
            if let credential = self[serial], pattern.matches(credential) { found.append(serial) }
        }
        return (found, nil)
    }

    /// Returns the serial number of the credential that this one replaces, by ``MarshalledCredential/repeats(_:)``.
    func serial(repeatedBy credential: MarshalledCredential, examined: inout Int) -> UInt64? {
        index.candidates(like: credential).first { serial in
            examined += 1
            return self[serial].map(credential.repeats) ?? false
        }
    }

    private func candidates(for pattern: CredentialPattern) -> [UInt64] { index.candidates(for: pattern) ?? serials }
}

/// An index of credentials by server, so that no search reads a whole cache.
///
/// Each credential has three keys: client and server, as libkrb5 looks up tickets; the server's components, for a pattern without the
/// client or the realm; and the fields that ``MarshalledCredential/repeats(_:)`` compares. Because a service that acts for ten thousand
/// users has ten thousand tickets for itself, the client is part of a key. Only hashes are stored. A hash collision costs one comparison;
/// the seed is new in each process, so clients cannot provoke collisions.
struct CredentialIndex {
    /// The serial numbers of each key in ascending order.
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

    /// Returns the serial numbers of possible matches in ascending order; nil if the pattern has no server.
    func candidates(for pattern: CredentialPattern) -> [UInt64]? {
        guard let server = pattern.server else { return nil }
        guard pattern.comparesServerRealm, let client = pattern.client else { return serials[Self.componentsKey(server)] ?? [] }
        return serials[Self.pairKey(client, server)] ?? []
    }

    /// Returns the serial numbers of the credentials that a credential may replace.
    func candidates(like credential: MarshalledCredential) -> [UInt64] { serials[Self.repetitionKey(credential)] ?? [] }

    private static func keys(of credential: MarshalledCredential) -> [Int] {
        let server = credential.server
        return [pairKey(credential.client, server), componentsKey(server), repetitionKey(credential)]
    }

    private static func pairKey(_ client: MarshalledPrincipal, _ server: MarshalledPrincipal) -> Int {
        hash(0, server.identity, client.identity)
    }
    private static func componentsKey(_ server: MarshalledPrincipal) -> Int { hash(1, server.components, []) }
    /// The hash of the fields that ``MarshalledCredential/repeats(_:)`` compares.
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
    /// Returns the position of a number in an ascending list.
    func position(of number: UInt64) -> Int? {
        let position = firstPosition(atLeast: number)
        return position < endIndex && self[position] == number ? position : nil
    }

    /// Returns the first position in an ascending list whose number is not less than this one; `endIndex` if there is none.
    func firstPosition(atLeast number: UInt64) -> Int {
        var range = startIndex..<endIndex
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = self[middle] < number ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}

/// The tickets of a cache ordered by end time, so that expired ones are found without reading the others.
///
/// It is a binary heap. A removed ticket stays in it until it is the first, or until the queue is rebuilt, so the caller must check its
/// list.
struct ExpiryQueue {
    private struct Entry {
        let end: UInt32
        let serial: UInt64
    }

    private var heap: [Entry] = []

    var count: Int { heap.count }

    /// The serial number of the ticket with the earliest end time.
    var first: UInt64? { heap.first?.serial }

    mutating func insert(_ serial: UInt64, end: UInt32) {
        heap.append(Entry(end: end, serial: serial))
        var child = heap.count - 1
        while child > 0, heap[child].end < heap[(child - 1) / 2].end {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func removeFirst() {
        guard let last = heap.popLast(), !heap.isEmpty else { return }
        heap[0] = last
        var parent = 0
        while true {
            let children = [2 * parent + 1, 2 * parent + 2].filter { $0 < heap.count }
            guard let least = children.min(by: { heap[$0].end < heap[$1].end }), heap[least].end < heap[parent].end else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    /// Returns the serial numbers of the tickets that end before a time, unordered; examines about two entries for each of them.
    func serials(endingBefore time: Int64) -> [UInt64] {
        var found: [UInt64] = []
        var positions = [0]
        while let position = positions.popLast() {
            guard position < heap.count, Int64(heap[position].end) < time else { continue }
            found.append(heap[position].serial)
            positions += [2 * position + 1, 2 * position + 2]
        }
        return found
    }
}

extension MarshalledCredential {
    /// Whether storing this credential replaces the other one.
    ///
    /// libkrb5 1.20 stores its refresh time repeatedly without removing the old entry, and each acquisition leaves the expired ticket
    /// behind, so a cache would only grow. Tickets that a request can distinguish stay, including those with a different encryption type.
    /// ``CredentialIndex`` has a key of the same fields.
    package func repeats(_ other: MarshalledCredential) -> Bool {
        isSessionKey == other.isSessionKey && encryptionType == other.encryptionType && client.isSame(as: other.client)
            && server.isSame(as: other.server) && secondTicket == other.secondTicket && authorizationData == other.authorizationData
    }

    /// The permitted clock skew in seconds.
    static let clockTolerance: Int64 = 300

    /// The end time of the ticket, by the KDC's clock; nil for a configuration entry and for a ticket without an end.
    var expiry: UInt32? { times.end == 0 || server.isConfiguration ? nil : times.end }

    /// Whether the ticket has expired, clock skew included, at a time in seconds since 1970 by the KDC's clock.
    ///
    /// A configuration entry has an end time of zero and never expires.
    package func hasExpired(at time: Int64) -> Bool { expiry.map { Int64($0) + Self.clockTolerance < time } ?? false }

    /// The last time at which the ticket can be used or renewed, by the KDC's clock; nil for a configuration entry and for a ticket without
    /// an end.
    var endOfLife: UInt32? {
        // RFC 4120 section 2.3: without the RENEWABLE flag, the renew-till time has no meaning.
        let isRenewable = ticketFlags & 0x0080_0000 != 0
        return expiry.map { isRenewable ? max($0, times.renewTill) : $0 }
    }
}
