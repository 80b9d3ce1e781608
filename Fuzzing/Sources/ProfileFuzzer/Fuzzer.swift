import Foundation
import FuzzerSupport

@testable import ExtensionProfile
@testable import ksso

/// Fuzzes profiles in all formats, and settings files in JSON. The first byte selects the kind of the rest.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = Input(start, count)
    switch input.kind(of: 4) {
    case 0: checkDocument(Data(input.rest()), "fuzzed.mobileconfig")
    case 1: checkDocument(Data(input.rest()), "fuzzed.yaml")
    case 2: checkBinary(Data(input.rest()))
    default: checkJSON(input.rest())
    }
    return 0
}

private func checkDocument(_ data: Data, _ name: String) {
    do throws(ProfileError) {
        let document = try ProfileDocument(data: data, source: name)
        check(!document.entries.isEmpty || !document.envelopes.isEmpty, "a profile without payloads is accepted")
        for entry in document.entries { checkValue(entry.value) }
        _ = try? Profile(data: data, source: name)
    } catch {
        check(!error.reason.isEmpty && error.message.hasPrefix(name), "a refusal has no reason")
        // What a message quotes from the file must not control a terminal.
        let isPlain = !error.message.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
        check(isPlain, "\(error.message.debugDescription) has control characters")
    }
}

/// A value survives being written as a property list and as YAML.
private func checkValue(_ value: ProfileValue) {
    check(size(value, depth: 0) <= 100_000, "there are too many values")
    if let object = object(value), let data = try? PropertyListSerialization.data(fromPropertyList: object, format: .binary, options: 0) {
        check((try? ProfileValue(propertyList: data, source: "again.plist")) == value, "a value does not survive a binary property list")
    }
    if let text = yaml(value) {
        do throws(ProfileError) {
            let again = try ProfileValue.documents(yaml: "- " + text, source: "again.yaml")
            check(again == [.array([value])], "a value does not survive YAML")
        } catch {
            // Text in quotes may look like aliases.
            check(error.reason.contains("aliases"), "a value that is written as YAML is refused: \(error)")
        }
    }
}

private func size(_ value: ProfileValue, depth: Int) -> Int {
    check(depth <= ProfileValue.maximumDepth, "values are nested too deeply")
    switch value {
    case .array(let values): return values.reduce(1) { $0 + size($1, depth: depth + 1) }
    case .dictionary(let values): return values.values.reduce(1) { $0 + size($1, depth: depth + 1) }
    default: return 1
    }
}

/// The value as Foundation writes it; nil if it has a part that a property list cannot express, or expresses as another type.
private func object(_ value: ProfileValue) -> Any? {
    switch value {
    case .string(let text): return text
    case .integer(let number): return number
    case .boolean(let truth): return truth
    case .data(let data): return data
    case .real, .date, .null: return nil
    case .array(let values):
        let objects = values.compactMap(object)
        return objects.count == values.count ? objects : nil
    case .dictionary(let values):
        let objects = values.compactMapValues(object)
        return objects.count == values.count ? objects : nil
    }
}

/// The value in one line of YAML; nil if it has a part that YAML cannot express.
private func yaml(_ value: ProfileValue) -> String? {
    switch value {
    case .string(let text): return quoted(text)
    case .integer(let number): return "\(number)"
    case .boolean(let truth): return "\(truth)"
    case .null: return "null"
    case .data(let data): return "!!binary \"\(data.base64EncodedString())\""
    case .real, .date: return nil
    case .array(let values):
        let texts = values.compactMap(yaml)
        return texts.count == values.count ? "[\(texts.joined(separator: ", "))]" : nil
    case .dictionary(let values):
        // The parser limits the length of a key in one line to 1024 characters.
        guard values.keys.allSatisfy({ quoted($0).count < 1000 }) else { return nil }
        let texts = values.compactMap { key, value in yaml(value).map { "\(quoted(key)): \($0)" } }
        return texts.count == values.count ? "{\(texts.joined(separator: ", "))}" : nil
    }
}

private func quoted(_ text: String) -> String {
    let escaped = text.unicodeScalars.map { scalar in
        if "\"\\".unicodeScalars.contains(scalar) { return "\\\(scalar)" }
        if (0x20..<0x7F).contains(scalar.value) { return String(scalar) }
        let digits = String(scalar.value, radix: 16)
        return "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
    }
    return "\"\(escaped.joined())\""
}

/// What the outline of a binary property list accepts is not larger or deeper than a profile may be, and its parser ends.
private func checkBinary(_ data: Data) {
    let data = Data("bplist00".utf8) + data
    guard BinaryPropertyListOutline(data).isModest else { return }
    if let value = try? ProfileValue(propertyList: data, source: "fuzzed.plist") { checkValue(value) }
}

/// JSON that is accepted is JSON for Foundation too, and survives a round trip.
private func checkJSON(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    check(JSONText.string(text).string == text, "\(text.debugDescription) does not survive as a string")
    guard let document = try? JSONText(parsing: text) else { return }
    let foundation = try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    check(foundation != nil, "Foundation refuses \(text.debugDescription)")
    check((try? JSONText(parsing: document.text())) == document, "a document does not survive a round trip")
    var changed = document
    let path = ["a", "b"]
    guard changed.set(.string("c"), at: path) else { return }
    check(changed[path]?.string == "c", "a setting is not found again")
    check((try? JSONText(parsing: changed.text())) == changed, "a changed document does not survive a round trip")
}
