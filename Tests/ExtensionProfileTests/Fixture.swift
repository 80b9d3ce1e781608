import Foundation
import Testing

@testable import ExtensionProfile

/// The files under Fixtures.
enum Fixture {
    /// Thrown when a row is not of the kind that the test expects.
    struct Unexpected: Error { let row: ProfileReportRow }

    static func path(_ name: String) throws -> String {
        try #require(Bundle.module.resourceURL).appending(path: "Fixtures/\(name)").path
    }

    static func data(_ name: String) throws -> Data { try ProfileFile.read(path: path(name)) }

    /// Reads a profile with its short name as the source, so that messages can be compared.
    static func profile(_ name: String) throws -> Profile { try Profile(data: data(name), source: name) }

    static func report(_ name: String) throws -> ProfileReport { try Profile.check(data: data(name), source: name) }

    /// The error that a file is refused with.
    static func refusal(_ name: String, _ location: SourceLocation = #_sourceLocation) throws -> ProfileError {
        try #require(
            throws: ProfileError.self,
            "\(name) should be refused",
            sourceLocation: location,
            performing: { _ = try profile(name) }
        )
    }
}
