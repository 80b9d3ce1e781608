import Foundation

/// Loads test vectors from files under `Fixtures`.
enum Fixture {
    struct Missing: Error { let name: String }

    static func load<Value: Decodable>(_ name: String, as type: Value.Type = Value.self) throws -> Value {
        let folders = ["Fixtures", nil]
        let urls = folders.compactMap { Bundle.module.url(forResource: name, withExtension: "json", subdirectory: $0) }
        guard let url = urls.first else { throw Missing(name: name) }
        return try JSONDecoder().decode(Value.self, from: Data(contentsOf: url))
    }
}

/// The bytes that a text of hexadecimal digits represents.
func bytes(hex: String) -> [UInt8] {
    let digits = Array(hex)
    return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0..<min($0 + 2, digits.count)]), radix: 16) }
}
