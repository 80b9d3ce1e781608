public import Foundation

/// The files in the `Fixtures` folder of a test target.
public enum FixtureFile {
    struct Missing: Error { let name: String }

    /// Decodes `Fixtures/NAME.json`. Throws if the file does not exist, or what `JSONDecoder` throws.
    ///
    /// - Parameter bundle: The target's `Bundle.module`.
    public static func load<Value: Decodable>(_ name: String, in bundle: Bundle, as type: Value.Type = Value.self) throws -> Value {
        guard let url = bundle.url(forResource: name, withExtension: "json", subdirectory: "Fixtures") else { throw Missing(name: name) }
        return try JSONDecoder().decode(Value.self, from: Data(contentsOf: url))
    }
}

struct InvalidHexadecimal: Error { let text: String }

/// The bytes of a text of hexadecimal digits, in which white space is ignored. Throws if another character is in it.
public func bytes(hexadecimal text: String) throws -> [UInt8] {
    let digits = text.filter { !$0.isWhitespace }.map(String.init)
    guard digits.count.isMultiple(of: 2) else { throw InvalidHexadecimal(text: text) }
    return try stride(from: 0, to: digits.count, by: 2).map { index in
        guard let byte = UInt8(digits[index] + digits[index + 1], radix: 16) else { throw InvalidHexadecimal(text: text) }
        return byte
    }
}
