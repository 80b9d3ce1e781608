/// What REPLACE puts in place of everything that a cache holds.
package struct Replacement: Sendable {
    /// By how many seconds the KDC's clock is ahead of this machine's.
    package let clockOffset: Int32
    /// Whose cache it is.
    package let principal: MarshalledPrincipal
    package let credentials: [MarshalledCredential]

    package init(clockOffset: Int32, principal: MarshalledPrincipal, credentials: [MarshalledCredential]) {
        self.clockOffset = clockOffset
        self.principal = principal
        self.credentials = credentials
    }

    init(from reader: inout ByteReader) throws(MalformedInput) {
        clockOffset = try reader.number("clock offset")
        principal = try MarshalledPrincipal(from: &reader)
        let begin = reader.offset
        let count = Int(try reader.number("number of credentials", as: UInt32.self))
        // Each takes four bytes at least; memory is not set aside for a number alone.
        guard count <= reader.rest.count / 4 else { throw MalformedInput(field: "number of credentials", offset: begin) }
        var credentials: [MarshalledCredential] = []
        for _ in 0..<count {
            var part = ByteReader(try reader.countedBytes("credential"))
            credentials.append(try MarshalledCredential(from: &part))
        }
        self.credentials = credentials
    }
}
