import Foundation
import SignOnPolicy
import Testing

@testable import ExtensionProfile

/// The documentation of profile keys matches the code.
@Suite struct KeyDocumentationTests {
    @Test(arguments: [ProfileKey.Place.payload, .extensionData])
    func `the documented table of keys matches the code`(_ place: ProfileKey.Place) throws {
        let documented = try KeyDocumentationTests.rows(under: place == .payload ? "## The payload" : "## ExtensionData")
        let expected = ProfileKey.all.filter { $0.place == place }.map(KeyDocumentationTests.row)
        #expect(
            documented == expected,
            "Sources/ExtensionProfile/ExtensionProfile.docc/Keys.md should have:\n\(expected.joined(separator: "\n"))"
        )
    }

    @Test func `every key that Apple does not have is documented with its danger`() throws {
        let documented = try KeyDocumentationTests.rows(under: "## The keys of our own").map { $0.components(separatedBy: " | ") }
        #expect(documented.map(\.first) == ProfileKey.own.map { "| `\($0.name)`" })
        #expect(documented.allSatisfy { $0.count == 4 && $0.allSatisfy { !$0.isEmpty } })
    }

    @Test func `the example in the key documentation is a valid profile`() throws {
        let lines = try KeyDocumentationTests.section("## The keys of our own")
        let example = lines.drop { $0 != "```yaml" }.dropFirst().prefix { $0 != "```" }
        let others = profileText(realm: "CORP.EXAMPLE", hosts: "").components(separatedBy: "\n").filter { !$0.hasPrefix("Hosts:") }
        let profile = try Profile(data: Data((others + example).joined(separator: "\n").utf8), source: "Keys.yaml")
        #expect(!profile.report.hasWarnings, "\(profile.report.advice)")
        #expect(profile.configurations.first?.servicePrincipals.count == 2)
    }

    @Test func `the documented comparison of host lists matches HostRule`() throws {
        let rows = try KeyDocumentationTests.rows(under: "## Hosts").map { row in
            row.split(separator: "|").map { $0.trimmingCharacters(in: [" ", "`"]) }
        }
        #expect(rows.count == 7)
        for row in rows {
            try #require(row.count == 8)
            let rule = try? HostRule(row[0])
            #expect((rule.map { $0.matches(host: row[1]) ? "yes" : "no" } ?? "refused") == row[2], "\(row)")
        }
    }

    @Test func `key names are unique`() {
        let names = ProfileKey.all.map { "\($0.place) \($0.name)" }
        #expect(Set(names).count == names.count)
    }

    /// A key as a row of the documented table.
    private static func row(_ key: ProfileKey) -> String {
        let state =
            switch key.state {
            case .used: "used"
            case .notApplicable(let reason): "not applicable: \(reason)"
            }
        let notes = (key.isRequired ? ["required"] : []) + (key.isDeprecated ? ["deprecated"] : [])
        let type = ([key.type.description] + notes).joined(separator: ", ")
        return "| `\(key.name)` | \(type) | \(key.defaultValue?.string ?? key.defaultValue?.description ?? "") | \(state) |"
            .replacingOccurrences(of: "|  |", with: "| |")
    }

    private static func rows(under heading: String) throws -> [String] {
        try section(heading).filter { $0.hasPrefix("| `") }
    }

    private static func section(_ heading: String) throws -> [String] {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let page = package.appending(path: "Sources/ExtensionProfile/ExtensionProfile.docc/Keys.md")
        let lines = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n")
        let start = try #require(lines.firstIndex(of: heading))
        return Array(lines[(start + 1)...].prefix { !$0.hasPrefix("## ") })
    }
}
