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

/// Cuts the bytes of a bus into messages. Any user of the bus can send us one, so that none of them ends the connection.
struct DBusFrameDecoder {
    /// A longer message is passed over: ten thousand login sessions fit, and nobody can make us keep more.
    static let maximumLength = 4 << 20
    /// No bus passes on a longer one (D-Bus specification, "Message Format"): where it seems to, the bytes are out of step.
    static let protocolMaximum = 128 << 20

    private var bytes: [UInt8] = []
    /// How many bytes are to come of a message that is passed over.
    private var skipped = 0

    mutating func append(_ more: some Collection<UInt8>) {
        let count = min(skipped, more.count)
        skipped -= count
        bytes += more.dropFirst(count)
    }

    /// The next whole message that can be read; nil where it has not arrived.
    ///
    /// - Throws: `DBusError.malformed` where nobody can tell at which byte the next one begins: the connection is to be closed.
    mutating func next() throws(DBusError) -> DBusMessage? {
        while let frame = try nextFrame() {
            if let message = try? DBusMessage(frame) { return message }
        }
        return nil
    }

    private mutating func nextFrame() throws(DBusError) -> [UInt8]? {
        while bytes.count >= DBusMessage.fixedLength {
            let parts = try DBusMessage.length(bytes)
            let length = parts.header + parts.body
            guard length <= Self.protocolMaximum else { throw .malformed }
            if length > Self.maximumLength {
                skipped = max(0, length - bytes.count)
                bytes.removeFirst(length - skipped)
                continue
            }
            guard bytes.count >= length else { return nil }
            defer { bytes.removeFirst(length) }
            return Array(bytes[..<length])
        }
        return nil
    }
}

/// A call of a method whose arguments are texts.
struct DBusCall: Hashable, Sendable {
    var destination: String
    var path: String
    var interface: String
    var member: String
    var arguments: [String] = []

    /// The bytes of the message, the low byte of a number first.
    func encoded(serial: UInt32) -> [UInt8] {
        var body = Writer()
        for argument in arguments { body.put(argument) }
        var header = Writer()
        // No service is started for it.
        header.bytes = [UInt8(ascii: "l"), DBusMessage.Kind.methodCall.rawValue, 2, 1]
        header.put(UInt32(body.bytes.count))
        header.put(serial)
        var fields = Writer()
        // They begin at a multiple of 8 in the message, and here too.
        fields.put(field: 1, "o", path)
        fields.put(field: 2, "s", interface)
        fields.put(field: 3, "s", member)
        fields.put(field: 6, "s", destination)
        if !arguments.isEmpty { fields.put(signature: String(repeating: "s", count: arguments.count)) }
        header.put(UInt32(fields.bytes.count))
        header.bytes += fields.bytes
        header.align(8)
        return header.bytes + body.bytes
    }

    private struct Writer {
        var bytes: [UInt8] = []

        mutating func align(_ alignment: Int) { bytes += [UInt8](repeating: 0, count: -bytes.count & (alignment - 1)) }

        mutating func put(_ number: UInt32) {
            align(4)
            bytes += (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        }

        mutating func put(_ text: String) {
            put(UInt32(text.utf8.count))
            bytes += Array(text.utf8) + [0]
        }

        mutating func put(field: UInt8, _ type: Character, _ text: String) {
            align(8)
            bytes += [field, 1] + Array(String(type).utf8) + [0]
            put(text)
        }

        mutating func put(signature: String) {
            align(8)
            bytes += [8, 1, UInt8(ascii: "g"), 0, UInt8(truncatingIfNeeded: signature.utf8.count)] + Array(signature.utf8) + [0]
        }
    }
}
