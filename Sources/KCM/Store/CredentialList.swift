/// The credentials of one cache in the order in which they came.
///
/// Each has a serial number that is never given twice, so an iteration by numbers goes on however the list changes meanwhile.
struct CredentialList {
    /// The serial numbers in ascending order, and at the same places the credentials; nil where one was removed.
    private var serials: [UInt64] = []
    private var slots: [MarshalledCredential?] = []
    private var index = CredentialIndex()
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
        // Half of the places are empty: closing them costs each removal one move.
        guard slots.count > 16, count < slots.count / 2 else { return }
        serials = zip(serials, slots).compactMap { $1 == nil ? nil : $0 }
        slots.removeAll { $0 == nil }
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

    /// The first that matches, as a cache file would give it.
    func first(matching pattern: CredentialPattern, examined: inout Int) -> MarshalledCredential? {
        for serial in candidates(for: pattern) {
            examined += 1
            guard let credential = self[serial] else { continue }
            if pattern.matches(credential) { return credential }
        }
        return nil
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
