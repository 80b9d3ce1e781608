import Foundation
import Testing

@testable import ExtensionProfile

/// The table of keys in the documentation and the one in the code are the same.
@Suite struct KeyDocumentationTests {
    @Test(arguments: [ProfileKey.Place.payload, .extensionData])
    func `the documented table is the code's`(_ place: ProfileKey.Place) throws {
        let documented = try KeyDocumentationTests.rows(under: place == .payload ? "## The payload" : "## ExtensionData")
        let expected = ProfileKey.all.filter { $0.place == place }.map(KeyDocumentationTests.row)
        #expect(
            documented == expected,
            "Sources/ExtensionProfile/ExtensionProfile.docc/Keys.md should have:\n\(expected.joined(separator: "\n"))"
        )
    }

    @Test func `names are unique and 38 keys are the extension's`() {
        #expect(ProfileKey.extensionData.count == 38)
        let names = ProfileKey.all.map { "\($0.place) \($0.name)" }
        #expect(Set(names).count == names.count)
    }

    /// A key as a row of the table.
    private static func row(_ key: ProfileKey) -> String {
        let state =
            switch key.state {
            case .used: "used"
            case .notYet(let reason): "not yet: \(reason)"
            case .notApplicable(let reason): "not applicable: \(reason)"
            }
        let notes = (key.isRequired ? ["required"] : []) + (key.isDeprecated ? ["deprecated"] : [])
        let type = ([key.type.description] + notes).joined(separator: ", ")
        return "| `\(key.name)` | \(type) | \(key.defaultValue?.string ?? key.defaultValue?.description ?? "") | \(state) |"
            .replacingOccurrences(of: "|  |", with: "| |")
    }

    private static func rows(under heading: String) throws -> [String] {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let page = package.appending(path: "Sources/ExtensionProfile/ExtensionProfile.docc/Keys.md")
        let lines = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n")
        let start = try #require(lines.firstIndex(of: heading))
        return lines[(start + 1)...].prefix { !$0.hasPrefix("## ") }.filter { $0.hasPrefix("| `") }
    }
}
