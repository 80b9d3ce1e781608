import FuzzerSupport

@testable import SSOAgent

/// Fuzzes what a message bus and its users send. The first byte selects the kind of the rest.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = Input(start, count)
    switch input.kind(of: 5) {
    case 0: checkStream(step: Int(input.byte()), input.rest())
    case 1: checkCall(input.texts())
    case 2: checkSignature(input.text())
    case 3: checkAuthentication(step: Int(input.byte()), input.rest())
    default: checkAddress(input.text())
    }
    return 0
}

/// The messages of a stream do not depend on how its bytes arrive.
private func checkStream(step: Int, _ bytes: [UInt8]) {
    let (whole, isWhole) = messages(parts(of: bytes, length: bytes.count))
    let (split, isSplit) = messages(parts(of: bytes, length: step))
    check(whole == split && isWhole == isSplit, "the messages depend on how the bytes arrive")
    for message in whole {
        check(message.serial != 0, "a message has no serial number")
        guard let values = try? message.values() else { continue }
        // Every value takes at least a byte, and a structure at least one value.
        check(values.reduce(0) { $0 + leaves($1, depth: 0) } <= bytes.count, "a message has more values than bytes")
        check((try? message.values()) == values, "the values are read differently")
    }
}

private func messages(_ parts: [ArraySlice<UInt8>]) -> ([DBusMessage], Bool) {
    var decoder = DBusFrameDecoder()
    var messages: [DBusMessage] = []
    for part in parts {
        decoder.append(part)
        do {
            while let message = try decoder.next() { messages.append(message) }
        } catch {
            return (messages, false)
        }
    }
    return (messages, true)
}

private func leaves(_ value: DBusValue, depth: Int) -> Int {
    check(depth <= DBusType.maximumDepth + 1, "values are nested too deeply")
    switch value {
    case .list(let values): return values.reduce(0) { $0 + leaves($1, depth: depth + 1) }
    case .entry(let key, let value): return leaves(key, depth: depth + 1) + leaves(value, depth: depth + 1)
    case .string(let text):
        check(!text.utf8.contains(0), "a string contains a zero byte")
        return 1
    default: return 1
    }
}

/// A call that is encoded is read back.
private func checkCall(_ texts: [String]) {
    let texts = texts.map { $0.replacing("\0", with: "") }
    guard texts.count >= 4, texts.count < 250 else { return }
    let arguments = Array(texts[4...])
    let call = DBusCall(destination: texts[0], path: texts[1], interface: texts[2], member: texts[3], arguments: arguments)
    guard let message = try? DBusMessage(call.encoded(serial: 7)) else { fatalError("a call is not read back") }
    check(message.kind == .methodCall && message.serial == 7, "the header of a call has changed")
    check(message.path == texts[1] && message.interface == texts[2] && message.member == texts[3], "the fields of a call have changed")
    check((try? message.values()) == arguments.map { DBusValue.string($0) }, "the arguments of a call have changed")
}

/// A signature that is accepted is that of its types.
private func checkSignature(_ text: String) {
    guard let types = try? DBusType.types(in: text) else { return }
    check(types.map { signature($0, depth: 0) }.joined() == text, "\(text) is read as other types")
}

private func signature(_ type: DBusType, depth: Int) -> String {
    check(depth < DBusType.maximumDepth, "types are nested too deeply")
    switch type {
    case .byte: return "y"
    case .boolean: return "b"
    case .int16: return "n"
    case .uint16: return "q"
    case .int32: return "i"
    case .uint32: return "u"
    case .int64: return "x"
    case .uint64: return "t"
    case .double: return "d"
    case .string: return "s"
    case .objectPath: return "o"
    case .signature: return "g"
    case .descriptor: return "h"
    case .variant: return "v"
    case .array(let element): return "a" + signature(element, depth: depth + 1)
    case .structure(let members): return "(" + members.map { signature($0, depth: depth + 1) }.joined() + ")"
    case .entry(let key, let value): return "{" + signature(key, depth: depth + 1) + signature(value, depth: depth + 1) + "}"
    }
}

/// The reply of a bus does not depend on how its bytes arrive, and leaves the bytes after it.
private func checkAuthentication(step: Int, _ bytes: [UInt8]) {
    let whole = authenticate(parts(of: bytes, length: bytes.count))
    check(whole == authenticate(parts(of: bytes, length: step)), "the authentication depends on how the bytes arrive")
    guard case .accepted(let left) = whole else { return }
    let line = bytes.prefix(bytes.count - left)
    check(line.starts(with: "OK ".utf8) && line.firstIndex(of: 10) == line.count - 1, "something else than OK is accepted")
}

private enum Authentication: Equatable {
    case accepted(left: Int)
    case failed(DBusError)
    case waiting
}

private func authenticate(_ parts: [ArraySlice<UInt8>]) -> Authentication {
    var authentication = DBusAuthentication(user: 1000)
    for (index, part) in parts.enumerated() {
        var part = part
        do throws(DBusError) {
            guard try authentication.read(&part) else { continue }
            return .accepted(left: part.count + parts[(index + 1)...].reduce(0) { $0 + $1.count })
        } catch {
            return .failed(error)
        }
    }
    return .waiting
}

/// The path of an address is absolute, and what escapes it is decoded as a second decoder does.
private func checkAddress(_ text: String) {
    if let path = DBusAddress.systemSocket(environment: ["DBUS_SYSTEM_BUS_ADDRESS": text]) {
        check(path.hasPrefix("/") && !path.utf8.contains(0), "\(path.debugDescription) is not a path")
    }
    let alone = "unix:path=" + text.replacing(",", with: "").replacing(";", with: "")
    let found = DBusAddress.systemSocket(environment: ["DBUS_SYSTEM_BUS_ADDRESS": alone])
    let expected = decoded(Array(alone.utf8.dropFirst(10))).flatMap { String(validating: $0, as: UTF8.self) }
    check(found == expected.flatMap { $0.hasPrefix("/") && !$0.utf8.contains(0) ? $0 : nil }, "\(alone) is read as \(found ?? "nothing")")
}

private func decoded(_ bytes: [UInt8]) -> [UInt8]? {
    let digits = Array("0123456789abcdef".utf8)
    func digit(_ index: Int) -> Int? { index < bytes.count ? digits.firstIndex(of: bytes[index] | 0x20) : nil }
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
        guard bytes[index] == UInt8(ascii: "%") else {
            result.append(bytes[index])
            index += 1
            continue
        }
        // The bit of lower case would turn a control character into a digit.
        guard let high = digit(index + 1), let low = digit(index + 2), bytes[index + 1] >= 0x30, bytes[index + 2] >= 0x30 else {
            return nil
        }
        result.append(UInt8(high << 4 | low))
        index += 3
    }
    return result
}
