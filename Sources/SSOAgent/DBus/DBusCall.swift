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
