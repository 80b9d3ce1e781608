import Testing

@testable import SSOAgent

/// How well-formed and malformed D-Bus messages are decoded.
@Suite struct DBusMessageTests {
    /// A signal as logind sends it: LockedHint has become true.
    static let signal: [UInt8] = {
        var fields = Bytes()
        fields.field(1, "o", "/org/freedesktop/login1/session/_37")
        fields.field(2, "s", "org.freedesktop.DBus.Properties")
        fields.field(3, "s", "PropertiesChanged")
        fields.field(7, "s", ":1.0")
        fields.align(8)
        fields.bytes += [8, 1, 103, 0, 8] + Array("sa{sv}as".utf8) + [0]
        var body = Bytes()
        body.text("org.freedesktop.login1.Session")
        var entry = Bytes()
        entry.text("LockedHint")
        entry.bytes += [1, 98, 0]
        entry.number(1)
        body.number(UInt32(entry.bytes.count))
        body.align(8)
        body.bytes += entry.bytes
        body.number(0)
        return message(4, fields: fields.bytes, body: body.bytes)
    }()

    /// Encodes values as D-Bus does.
    struct Bytes {
        var bytes: [UInt8] = []
        mutating func align(_ alignment: Int) { while bytes.count % alignment != 0 { bytes.append(0) } }
        mutating func number(_ value: UInt32) {
            align(4)
            bytes += (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        mutating func text(_ text: String) {
            number(UInt32(text.utf8.count))
            bytes += Array(text.utf8) + [0]
        }
        mutating func field(_ code: UInt8, _ type: Character, _ value: String) {
            align(8)
            bytes += [code, 1, type.asciiValue ?? 0, 0]
            text(value)
        }
    }

    static func message(_ kind: UInt8, fields: [UInt8], body: [UInt8]) -> [UInt8] {
        var header = Bytes(bytes: [108, kind, 1, 1])
        header.number(UInt32(body.count))
        header.number(7)
        header.number(UInt32(fields.count))
        header.bytes += fields
        header.align(8)
        return header.bytes + body
    }

    /// A message with a body and its signature.
    static func message(_ signature: String, _ body: [UInt8]) -> [UInt8] {
        let text = Array(signature.utf8)
        return message(4, fields: [8, 1, 103, 0, UInt8(text.count)] + text + [0], body: body)
    }

    @Test func `a signal is decoded`() throws {
        let message = try DBusMessage(Self.signal)
        #expect(message.kind == .signal && message.serial == 7 && message.sender == ":1.0")
        #expect(message.path == "/org/freedesktop/login1/session/_37" && message.member == "PropertiesChanged")
        #expect(
            try message.values() == [
                .string("org.freedesktop.login1.Session"), .list([.entry(.string("LockedHint"), .boolean(true))]), .list([]),
            ]
        )
    }

    @Test func `an encoded method call is decoded to the same values`() throws {
        let call = DBusCall(destination: "a.b", path: "/", interface: "c.d", member: "E", arguments: ["one", "", "dr\u{e9}i"])
        let message = try DBusMessage(call.encoded(serial: 9))
        #expect(message.kind == .methodCall && message.serial == 9 && message.interface == "c.d" && message.member == "E")
        #expect(try message.values() == [.string("one"), .string(""), .string("dr\u{e9}i")])
        #expect(try DBusMessage(DBusCall.bus("Hello").encoded(serial: 1)).values() == [])
    }

    @Test func `a big-endian message is decoded`() throws {
        let body: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 5]
        let fields: [UInt8] = [8, 1, 103, 0, 2, 98, 117, 0]
        let bytes = [66, 4, 1, 1, 0, 0, 0, 8, 0, 0, 0, 7, 0, 0, 0, 8] + fields + body
        #expect(try DBusMessage(bytes).values() == [.boolean(true), .unsigned(5)])
    }

    @Test(arguments: [1, 3, 16, 17, 300]) func `D-Bus messages are reassembled from fragments of any size`(size: Int) throws {
        let stream = Self.signal + Self.message("u", [5, 0, 0, 0]) + Self.signal
        var decoder = DBusFrameDecoder()
        var messages: [DBusMessage] = []
        for start in stride(from: 0, to: stream.count, by: size) {
            decoder.append(stream[start..<min(start + size, stream.count)])
            while let message = try decoder.next() { messages.append(message) }
        }
        #expect(messages.count == 3 && messages.first == messages.last)
        #expect(try messages[1].values() == [.unsigned(5)])
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]
        init(_ text: String, _ bytes: [UInt8]) { (testDescription, self.bytes) = (text, bytes) }
    }

    @Test(arguments: [
        Fault("no byte order", [0] + signal.dropFirst()),
        Fault("the protocol's second version", signal.prefix(3) + [2] + signal.dropFirst(4)),
        Fault("no message type", [108, 0] + signal.dropFirst(2)),
        Fault("serial 0", signal.prefix(8) + [0] + signal.dropFirst(9)),
        Fault("a body without a signature", message(4, fields: [], body: [1])),
        Fault("a text that is longer than the body", message("s", [9, 0, 0, 0, 65, 0])),
        Fault("a text of 4 GiB", message("s", [255, 255, 255, 255, 65, 0])),
        Fault("a text without its zero", message("s", [1, 0, 0, 0, 65, 66])),
        Fault("a text with a zero", message("s", [3, 0, 0, 0, 65, 0, 65, 0])),
        Fault("a text that is not UTF-8", message("s", [1, 0, 0, 0, 0xFF, 0])),
        Fault("a boolean of 2", message("b", [2, 0, 0, 0])),
        Fault("an array that is longer than the body", message("ay", [9, 0, 0, 0, 1])),
        Fault("an array whose last element does not fit", message("au", [6, 0, 0, 0, 1, 0, 0, 0, 2, 0])),
        Fault("padding that is not zero", message("yu", [1, 1, 0, 0, 2, 0, 0, 0])),
        Fault("bytes after the values", message("y", [1, 2])),
        Fault("a missing value", message("yy", [1])),
        Fault("a variant of two types", message("v", [2, 121, 121, 0, 1, 1])),
        Fault("a variant without a type", message("v", [0, 0])),
        Fault("variants nested too deeply", message("v", [UInt8](repeating: [1, 118, 0], count: 2000))),
        Fault("arrays nested too deeply", message(String(repeating: "a", count: 200) + "y", [0, 0, 0, 0])),
        Fault("an array without an element type", message("a", [0, 0, 0, 0])),
        Fault("a structure that is not closed", message("(y", [1])),
        Fault("an empty structure", message("()", [])),
        Fault("a dictionary whose key is a variant", message("a{vs}", [0, 0, 0, 0])),
        Fault("a dictionary entry of three types", message("a{sss}", [0, 0, 0, 0])),
        Fault("an entry outside of a dictionary", message("{ss}", [])),
        Fault("an unknown type", message("k", [])),
    ])
    func `a malformed D-Bus message is refused`(_ fault: Fault) {
        #expect(throws: DBusError.malformed) { try DBusMessage(fault.bytes).values() }
    }

    /// Messages are truncated, and changed in every byte; the result is an error or other values, never a crash.
    @Test func `a truncated or damaged D-Bus message does not crash the decoder`() throws {
        let bodies = [("a(susso)", 1), ("a{sv}v", 4)].map { Self.message($0, [UInt8](repeating: $1, count: 64)) }
        for bytes in bodies + [Self.signal, DBusCall.bus("AddMatch", "x").encoded(serial: 3)] {
            for end in 0..<bytes.count { #expect((try? DBusMessage(Array(bytes[..<end]))) == nil) }
            for place in bytes.indices {
                for value in [0, 1, 2, 4, 31, 97, 118, 127, 128, 255] as [UInt8] {
                    var damaged = bytes
                    damaged[place] = value
                    var decoder = DBusFrameDecoder()
                    decoder.append(damaged)
                    while let message = try? decoder.next() { _ = try? message.values() }
                }
            }
        }
    }

    /// A signal with a header field that is nested in more variants than the decoder reads.
    static func nested(to destination: String = ":1.9", depth: Int = 40) -> [UInt8] {
        foreignSignal(to: destination) { fields in
            fields.align(8)
            fields.bytes += [200] + [UInt8](repeating: [1, 118, 0], count: depth) + [1, 121, 0, 1]
        }
    }

    /// A signal with a body of 5 MiB.
    static func huge(to destination: String = ":1.9") -> [UInt8] {
        var body = Bytes()
        body.number(5 << 20)
        return foreignSignal(to: destination, body: body.bytes + [UInt8](repeating: 0, count: 5 << 20)) { fields in
            fields.align(8)
            fields.bytes += [8, 1, 103, 0, 2] + Array("ay".utf8) + [0]
        }
    }

    private static func foreignSignal(to destination: String, body: [UInt8] = [], _ more: (inout Bytes) -> Void) -> [UInt8] {
        var fields = Bytes()
        fields.field(1, "o", "/x")
        fields.field(2, "s", "x.y")
        fields.field(3, "s", "Z")
        fields.field(6, "s", destination)
        more(&fields)
        return message(4, fields: fields.bytes, body: body)
    }

    @Test(arguments: [5000, 1 << 16, 1 << 30]) func `D-Bus messages that cannot be read are skipped`(size: Int) throws {
        let body: [UInt8] = [1, 2, 3, 4]
        for foreign in [Self.huge(), Self.nested(), Self.message(4, fields: [], body: body)] {
            let stream = Self.signal + foreign + foreign + Self.signal
            var decoder = DBusFrameDecoder()
            var messages: [DBusMessage] = []
            for start in stride(from: 0, to: stream.count, by: size) {
                decoder.append(stream[start..<min(start + size, stream.count)])
                while let message = try decoder.next() { messages.append(message) }
            }
            #expect(messages.count == 2 && messages.first == messages.last)
        }
    }

    @Test func `a D-Bus message above the protocol's length limit is refused before it arrives`() throws {
        for place in [4, 12] {
            var head = Array(Self.signal.prefix(16))
            head[place + 3] = 16
            var decoder = DBusFrameDecoder()
            decoder.append(head)
            #expect(throws: DBusError.malformed) { try decoder.next() }
        }
    }

    @Test(
        arguments: [
            (nil, "/run/dbus/system_bus_socket"), ("", "/run/dbus/system_bus_socket"), ("unix:path=/a/b", "/a/b"),
            ("unix:path=/a/b,guid=12", "/a/b"), ("unix:guid=12,path=/a%20b", "/a b"), ("tcp:host=h;unix:path=/c", "/c"),
            ("unix:abstract=/a", nil), ("unix:path=/a%2", nil), ("unix:path=/a%+f", nil), ("unix:path=/a%00", nil), ("unix:path=a", nil),
            ("nonsense", nil),
        ] as [(String?, String?)]
    )
    func `DBUS_SYSTEM_BUS_ADDRESS sets the path of the system bus's socket`(address: String?, path: String?) {
        #expect(DBusAddress.systemSocket(environment: address.map { ["DBUS_SYSTEM_BUS_ADDRESS": $0] } ?? [:]) == path)
    }
}

extension [UInt8] {
    fileprivate init(repeating part: [UInt8], count: Int) { self = (0..<count).flatMap { _ in part } }
}
