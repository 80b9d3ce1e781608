/// A message that has arrived: its header, and the body as it came, which is read when somebody wants it.
struct DBusMessage: Hashable, Sendable {
    enum Kind: UInt8, Sendable {
        case methodCall = 1
        case methodReturn = 2
        case error = 3
        case signal = 4
    }

    /// Nil for one that later versions of the protocol know.
    let kind: Kind?
    let serial: UInt32
    /// The call that it answers.
    private(set) var replySerial: UInt32?
    private(set) var path: String?
    private(set) var interface: String?
    private(set) var member: String?
    private(set) var errorName: String?
    /// Who sent it: the bus itself says so.
    private(set) var sender: String?
    private var signature = ""
    private let body: [UInt8]
    private let isBigEndian: Bool

    /// The length of what stands before the header's fields, their own length included.
    static let fixedLength = 16

    /// Reads one whole message.
    init(_ bytes: [UInt8]) throws(DBusError) {
        let length = try DBusMessage.length(bytes)
        guard length.header + length.body == bytes.count else { throw .malformed }
        isBigEndian = bytes[0] == UInt8(ascii: "B")
        kind = Kind(rawValue: bytes[1])
        body = Array(bytes[length.header...])
        var reader = DBusReader(Array(bytes[8..<length.header]), isBigEndian: isBigEndian)
        serial = try reader.integer(UInt32.self)
        guard bytes[1] != 0, serial != 0 else { throw .malformed }
        let fields = try reader.value(.array(.structure([.byte, .variant])))
        try reader.align(8)
        guard reader.isAtEnd else { throw .malformed }
        for field in fields.list ?? [] { try take(field) }
        guard !signature.isEmpty || body.isEmpty else { throw .malformed }
    }

    /// The lengths of a message's two parts, by what stands before the header's fields.
    static func length(_ bytes: some Collection<UInt8>) throws(DBusError) -> (header: Int, body: Int) {
        let bytes = Array(bytes.prefix(fixedLength))
        guard bytes.count == fixedLength, [UInt8(ascii: "l"), UInt8(ascii: "B")].contains(bytes[0]), bytes[3] == 1 else { throw .malformed }
        var reader = DBusReader(Array(bytes[4...]), isBigEndian: bytes[0] == UInt8(ascii: "B"))
        let body = Int(try reader.integer(UInt32.self))
        _ = try reader.integer(UInt32.self)
        let fields = Int(try reader.integer(UInt32.self))
        return (header: (fixedLength + fields + 7) & ~7, body: body)
    }

    private mutating func take(_ field: DBusValue) throws(DBusError) {
        guard let parts = field.list, parts.count == 2, let code = parts[0].number else { throw .malformed }
        func text() throws(DBusError) -> String {
            guard let text = parts[1].string else { throw .malformed }
            return text
        }
        switch code {
        case 1: path = try text()
        case 2: interface = try text()
        case 3: member = try text()
        case 4: errorName = try text()
        case 5:
            guard let number = parts[1].number else { throw .malformed }
            replySerial = UInt32(truncatingIfNeeded: number)
        case 7: sender = try text()
        case 8: signature = try text()
        default: break
        }
    }

    /// What it carries.
    func values() throws(DBusError) -> [DBusValue] {
        var reader = DBusReader(body, isBigEndian: isBigEndian)
        var values: [DBusValue] = []
        for type in try DBusType.types(in: signature) { values.append(try reader.value(type)) }
        guard reader.isAtEnd else { throw .malformed }
        return values
    }
}
