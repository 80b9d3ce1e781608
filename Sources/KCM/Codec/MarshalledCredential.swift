/// A credential in the format of a version 4 cache file, stored and returned byte for byte.
///
/// Only the field boundaries are stored; a field is decoded when a comparison needs it.
package struct MarshalledCredential: Hashable, Sendable {
    /// The encoded credential, unchanged.
    package private(set) var bytes: [UInt8]
    /// The offsets at which client, server, key, addresses, authorization data and ticket end; the second ticket ends with the bytes.
    private let ends: Ends

    private struct Ends: Hashable {
        var client: UInt32 = 0
        var server: UInt32 = 0
        var key: UInt32 = 0
        var addresses: UInt32 = 0
        var authorizationData: UInt32 = 0
        var ticket: UInt32 = 0
    }

    /// Reads one credential; ignores any bytes that follow.
    package init(_ bytes: [UInt8]) throws(MalformedInput) {
        var reader = ByteReader(bytes)
        self = try MarshalledCredential(from: &reader)
    }

    init(from reader: inout ByteReader) throws(MalformedInput) {
        let whole = reader.rest
        var ends = Ends()
        func end() -> UInt32 { UInt32(truncatingIfNeeded: reader.rest.startIndex - whole.startIndex) }
        _ = try MarshalledPrincipal(from: &reader)
        ends.client = end()
        _ = try MarshalledPrincipal(from: &reader)
        ends.server = end()
        _ = try reader.number("encryption type", as: Int16.self)
        _ = try reader.countedBytes("key")
        ends.key = end()
        _ = try reader.bytes(Self.fixedLength, "times and flags")
        _ = try reader.typedList("addresses")
        ends.addresses = end()
        _ = try reader.typedList("authorization data")
        ends.authorizationData = end()
        _ = try reader.countedBytes("ticket")
        ends.ticket = end()
        _ = try reader.countedBytes("second ticket")
        self.ends = ends
        bytes = Array(whole[..<reader.rest.startIndex])
    }

    /// Overwrites all bytes, the key included, if this is the only reference to them; the credential is unusable afterwards.
    mutating func wipe() { bytes.wipe() }

    /// The length of the four times, the byte for `is_skey`, and the ticket flags.
    private static let fixedLength = 4 * 4 + 1 + 4

    package var client: MarshalledPrincipal { principal(0, ends.client) }
    package var server: MarshalledPrincipal { principal(ends.client, ends.server) }
    package var encryptionType: Int16 { Int16(truncatingIfNeeded: number(at: ends.server, 2)) }
    package var times: CredentialTimes {
        CredentialTimes(
            authentication: number(at: ends.key, 4),
            start: number(at: ends.key + 4, 4),
            end: number(at: ends.key + 8, 4),
            renewTill: number(at: ends.key + 12, 4)
        )
    }
    /// Whether the ticket is encrypted in another ticket's session key (user-to-user authentication).
    package var isSessionKey: Bool { bytes[Int(ends.key) + 16] != 0 }
    package var ticketFlags: UInt32 { number(at: ends.key + 17, 4) }
    /// The encoded list with its count, unchanged.
    package var authorizationData: ArraySlice<UInt8> { bytes[Int(ends.addresses)..<Int(ends.authorizationData)] }
    package var ticket: ArraySlice<UInt8> { bytes[Int(ends.authorizationData) + 4..<Int(ends.ticket)] }
    /// The bytes that overwrite a removed credential, in this order. First comes the mark that libkrb5 leaves when it removes a credential
    /// from a file: an end time of zero and an authentication time of -1. Then zeros replace the key and the ticket. The fields by which
    /// other programs and ``repeats(_:)`` distinguish credentials stay.
    var erasures: [Erasure] {
        let (times, start) = (Int(ends.key), bytes[Int(ends.key) + 4..<Int(ends.key) + 8])
        let secrets = [Int(ends.server) + 2 + 4..<Int(ends.key), Int(ends.authorizationData) + 4..<Int(ends.ticket)]
        return [Erasure(offset: times, bytes: [0xFF, 0xFF, 0xFF, 0xFF] + start + [0, 0, 0, 0])]
            + secrets.filter { !$0.isEmpty }.map { Erasure(offset: $0.lowerBound, bytes: [UInt8](repeating: 0, count: $0.count)) }
    }
    /// Whether the credential has been overwritten: it has the mark of a removed credential, or its key is not empty and all zeros.
    var isWiped: Bool {
        if times.end == 0, times.authentication == .max { return true }
        let key = bytes[Int(ends.server) + 2 + 4..<Int(ends.key)]
        return !key.isEmpty && key.allSatisfy { $0 == 0 }
    }
    /// Whether both principals are all zeros, as the end of a file may be after a power failure.
    var isBlank: Bool { bytes[..<Int(ends.server)].allSatisfy { $0 == 0 } }
    /// Whether a restart reads the credential back from a cache's file. One that looks removed or like the end of a file is not stored.
    var isStorable: Bool { !isWiped && !isBlank }
    package var secondTicket: ArraySlice<UInt8> { bytes[(Int(ends.ticket) + 4)...] }

    private func number(at offset: UInt32, _ count: UInt32) -> UInt32 {
        bytes[Int(offset)..<Int(offset + count)].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private func principal(_ start: UInt32, _ end: UInt32) -> MarshalledPrincipal {
        MarshalledPrincipal(checked: bytes[Int(start)..<Int(end)])
    }
}

extension MarshalledCredential: CustomStringConvertible, CustomReflectable {
    /// Omits the contents, because they include a key.
    package var description: String { "a credential of \(bytes.count) bytes" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension ByteReader {
    /// Reads a count and that many elements, each a two-byte type and length-prefixed bytes: addresses or authorization data.
    mutating func typedList(_ field: String) throws(MalformedInput) -> ArraySlice<UInt8> {
        let whole = rest
        let count = try number(field, as: UInt32.self)
        for _ in 0..<count {
            _ = try number(field, as: UInt16.self)
            _ = try countedBytes(field)
        }
        return whole[..<rest.startIndex]
    }
}

/// The four times of a ticket in seconds since 1970; unsigned, as in libkrb5, so that they last until 2106.
package struct CredentialTimes: Hashable, Sendable {
    package var authentication: UInt32
    package var start: UInt32
    package var end: UInt32
    package var renewTill: UInt32

    package init(authentication: UInt32 = 0, start: UInt32 = 0, end: UInt32 = 0, renewTill: UInt32 = 0) {
        self.authentication = authentication
        self.start = start
        self.end = end
        self.renewTill = renewTill
    }

    init(from reader: inout ByteReader) throws(MalformedInput) {
        authentication = try reader.number("times")
        start = try reader.number("times")
        end = try reader.number("times")
        renewTill = try reader.number("times")
    }
}

/// Bytes to write over a part of a credential or a file.
struct Erasure: Hashable {
    /// The offset of the first byte to overwrite.
    let offset: Int
    let bytes: [UInt8]

    /// The same bytes at an offset that is larger by `count`.
    func moved(by count: Int) -> Erasure { Erasure(offset: offset + count, bytes: bytes) }
}
