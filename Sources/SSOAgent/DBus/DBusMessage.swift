/// A received message: its header, and the body, which is decoded on demand.
struct DBusMessage: Hashable, Sendable {
    enum Kind: UInt8, Sendable {
        case methodCall = 1
        case methodReturn = 2
        case error = 3
        case signal = 4
    }

    /// The message type; nil if a later version of the protocol defines it.
    let kind: Kind?
    let serial: UInt32
    /// The serial number of the call that this message answers.
    private(set) var replySerial: UInt32?
    private(set) var path: String?
    private(set) var interface: String?
    private(set) var member: String?
    private(set) var errorName: String?
    /// The unique name of the sender, set by the bus.
    private(set) var sender: String?
    private var signature = ""
    private let body: [UInt8]
    private let isBigEndian: Bool

    /// The length of the part before the header fields, including the length of those fields.
    static let fixedLength = 16

    /// Decodes one complete message.
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

    /// Returns the lengths of a message's header and body, which the first ``fixedLength`` bytes contain.
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

    /// Decodes the body.
    func values() throws(DBusError) -> [DBusValue] {
        var reader = DBusReader(body, isBigEndian: isBigEndian)
        var values: [DBusValue] = []
        for type in try DBusType.types(in: signature) { values.append(try reader.value(type)) }
        guard reader.isAtEnd else { throw .malformed }
        return values
    }
}

/// Splits the bytes of a bus connection into messages. Any user of the bus can send messages to this process, so that an invalid one does
/// not close the connection.
struct DBusFrameDecoder {
    /// The maximum length of a message, enough for ten thousand login sessions. Longer messages are skipped, so that no sender can make
    /// this process allocate more.
    static let maximumLength = 4 << 20
    /// The maximum length that a bus forwards (D-Bus specification, "Message Format"). A longer one means that the byte stream is out of
    /// sync.
    static let protocolMaximum = 128 << 20

    private var bytes: [UInt8] = []
    /// The number of bytes still to come of a message that is skipped.
    private var skipped = 0

    mutating func append(_ more: some Collection<UInt8>) {
        let count = min(skipped, more.count)
        skipped -= count
        bytes += more.dropFirst(count)
    }

    /// Returns the next complete and valid message; nil if more bytes are needed.
    ///
    /// - Throws: `DBusError.malformed` if the start of the next message cannot be determined; the connection must be closed.
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

/// A method call whose arguments are strings.
struct DBusCall: Hashable, Sendable {
    var destination: String
    var path: String
    var interface: String
    var member: String
    var arguments: [String] = []

    /// Encodes the message in little-endian byte order.
    func encoded(serial: UInt32) -> [UInt8] {
        var body = Writer()
        for argument in arguments { body.put(argument) }
        var header = Writer()
        // The flag NO_AUTO_START: the bus starts no service for the call.
        header.bytes = [UInt8(ascii: "l"), DBusMessage.Kind.methodCall.rawValue, 2, 1]
        header.put(UInt32(body.bytes.count))
        header.put(serial)
        var fields = Writer()
        // The fields start at a multiple of 8 in the message and in this buffer.
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
