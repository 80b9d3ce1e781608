import Foundation
import Testing

@testable import KCM

/// A request of a real client and its reply, from a recording made by `Fixtures/record-client`.
struct Exchange: Decodable, Sendable {
    /// The command or the call that sent the request.
    let scenario: String
    /// The number of the client's connection.
    let connection: Int
    let operation: UInt16
    /// The bytes from the version on, in hexadecimal.
    let request: String
    let code: Int32
    /// The bytes after the code, in hexadecimal.
    let reply: String

    private struct Recording: Decodable {
        let exchanges: [Exchange]
    }

    /// The recordings of MIT's and of Heimdal's client.
    static let recordings = ["mit-client", "heimdal-client"]

    /// The exchanges of a recording.
    static func all(_ name: String) throws -> [Exchange] {
        let folder = try #require(Bundle.module.url(forResource: "Fixtures", withExtension: nil))
        let data = try Data(contentsOf: folder.appending(path: "\(name).json"))
        return try JSONDecoder().decode(Recording.self, from: data).exchanges
    }

    /// The first request of each operation and length.
    static let distinct: [Exchange] = {
        var seen: Set<String> = []
        let all = recordings.flatMap { (try? Exchange.all($0)) ?? [] }
        return all.filter { seen.insert("\($0.operation) \($0.request.count)").inserted }
    }()
}

extension Exchange: CustomTestStringConvertible {
    var testDescription: String { "\(scenario): operation \(operation), \(request.count / 2) bytes" }
}

/// Decodes hexadecimal digits.
func bytes(_ digits: String) -> [UInt8] {
    let digits = Array(digits.utf8)
    return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16) }
}
