/// The credentials of one cache in the order in which they came.
///
/// Each has a serial number that is never given twice, so an iteration by numbers goes on however the list changes meanwhile.
struct CredentialList {
    /// The serial numbers in ascending order, and at the same places the credentials; nil where one was removed.
    private var serials: [UInt64] = []
    private var slots: [MarshalledCredential?] = []
    private var index = CredentialIndex()
    private var expiries = ExpiryQueue()
    /// What the next credential gets.
    private(set) var nextSerial: UInt64 = 1
    private(set) var count = 0
    /// The credentials' own bytes.
    private(set) var byteCount = 0

    /// All with their serial numbers.
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
        // Half of the places are empty: closing them costs each removal one move.
        guard slots.count > 16, count < slots.count / 2 else { return }
        serials = zip(serials, slots).compactMap { $1 == nil ? nil : $0 }
        slots.removeAll { $0 == nil }
    }

    /// Lets go of tickets that have left the list: those that would be found first, and all of them once they are more than half.
    private mutating func tidyExpiries() {
        while let first = expiries.first, self[first] == nil { expiries.removeFirst() }
        guard expiries.count > 16 + 2 * count else { return }
        expiries = ExpiryQueue()
        for (serial, credential) in all { if let end = credential.expiry { expiries.insert(serial, end: end) } }
    }

    /// The serial numbers of the tickets that have expired at a time of the KDC's clock, in ascending order.
    func expired(at time: Int64) -> [UInt64] {
        expiries.serials(endingBefore: time - MarshalledCredential.clockTolerance).filter { self[$0] != nil }.sorted()
    }

    /// Empties the list; the serial numbers go on.
    mutating func removeAll() {
        let serial = nextSerial
        wipe()
        self = CredentialList()
        nextSerial = serial
    }

    /// Overwrites all keys; the list is of no use then.
    mutating func wipe() {
        for position in slots.indices { slots[position]?.wipe() }
    }

    /// What a search comes to.
    enum SearchResult {
        case found(MarshalledCredential)
        case notFound
        /// There are too many to look at.
        case unknown
    }

    /// How many credentials a search looks at. libkrb5's patterns name client and server, by which the index finds the few that may match:
    /// only another one comes to the limit, and it must not make other clients wait.
    static let searchLimit = 1000

    /// The first that matches, as a cache file would give it.
    func first(matching pattern: CredentialPattern, examined: inout Int) -> SearchResult {
        for serial in candidates(for: pattern) {
            guard examined < Self.searchLimit else { return .unknown }
            examined += 1
            guard let credential = self[serial] else { continue }
            if pattern.matches(credential) { return .found(credential) }
        }
        return .notFound
    }

    /// All that match.
    func serials(matching pattern: CredentialPattern, examined: inout Int) -> [UInt64] {
        candidates(for: pattern).filter { serial in
            examined += 1
            guard let credential = self[serial] else { return false }
            return pattern.matches(credential)
        }
    }

    /// The one that a credential takes the place of, by ``MarshalledCredential/repeats(_:)``.
    func serial(repeatedBy credential: MarshalledCredential, examined: inout Int) -> UInt64? {
        index.candidates(like: credential).first { serial in
            examined += 1
            return self[serial].map(credential.repeats) ?? false
        }
    }

    private func candidates(for pattern: CredentialPattern) -> [UInt64] { index.candidates(for: pattern) ?? serials }
}
