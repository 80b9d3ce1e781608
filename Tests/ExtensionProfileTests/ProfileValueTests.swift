import Foundation
import TestSupport
import Testing

@testable import ExtensionProfile

/// Values of profiles, as read from YAML and from property lists.
@Suite struct ProfileValueTests {
    @Test(arguments: [
        ("true", ProfileValue.boolean(true)), ("False", .boolean(false)), ("yes", .string("yes")), ("NO", .string("NO")),
        ("on", .string("on")),
        ("5", .integer(5)), ("-5", .integer(-5)), ("1.5", .real(1.5)), ("1e3", .real(1000)), ("'5'", .string("5")),
        ("!!str 5", .string("5")),
        ("\"true\"", .string("true")), ("null", .null), ("~", .null), ("\"\"", .string("")), ("12:30:45", .string("12:30:45")),
        ("2024-01-01", .string("2024-01-01")), ("0x1F", .string("0x1F")), ("inf", .string("inf")), ("1.2.3.4", .string("1.2.3.4")),
        ("!!binary AAEC", .data(Data([0, 1, 2]))), ("[a, 1]", .array([.string("a"), .integer(1)])), ("{}", .dictionary([:])),
        ("|\n  two\n  lines\n", .string("two\nlines\n")), ("99999999999999999999", .real(1e20)), ("-", .array([.null])),
        ("E", .string("E")), ("&x [1]", .array([.integer(1)])),
    ])
    func `a YAML value has its type in the core schema`(_ text: String, _ expected: ProfileValue) throws {
        let lead = text == "-" ? "key:\n  " : "key: "
        #expect(try ProfileValue.documents(yaml: lead + text, source: "a.yaml") == [.dictionary(["key": expected])])
    }

    @Test(arguments: ["!!timestamp 2024-01-01", "!own thing", "!!binary ???", "{[a]: 1}"])
    func `an unsupported YAML value is refused with its line`(_ text: String) throws {
        let error = try #require(throws: ProfileError.self) { try ProfileValue.documents(yaml: "\nkey: \(text)", source: "a.yaml") }
        #expect(error.code == .malformed)
        #expect(error.reason.contains("line 2"), "\(error)")
    }

    @Test func `a YAML alias has the value of its anchor`() throws {
        let values = try ProfileValue.documents(yaml: "a: &x [1]\nb: *x", source: "a.yaml")
        #expect(values == [.dictionary(["a": .array([.integer(1)]), "b": .array([.integer(1)])])])
    }

    @Test func `many aliases of one small value are accepted`() throws {
        let text = "a: &x 1\n" + (0..<100).map { "b\($0): *x\n" }.joined()
        #expect(try ProfileValue.documents(yaml: text, source: "a.yaml").first?.dictionary?.count == 101)
    }

    @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
    func `a property list keeps its types`(_ format: PropertyListSerialization.PropertyListFormat) throws {
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        let object: [String: Any] = [
            "boolean": true, "one": 1, "real": 1.5, "whole": 2.0, "text": "x", "data": Data([1]), "date": date, "list": ["a", 1] as [Any],
            "nested": ["key": [false]], "long": (0..<20).map { "entry \($0)" },
        ]
        let data = try PropertyListSerialization.data(fromPropertyList: object, format: format, options: 0)
        let expected: [String: ProfileValue] = [
            "boolean": .boolean(true), "one": .integer(1), "real": .real(1.5), "whole": .integer(2), "text": .string("x"),
            "data": .data(Data([1])),
            "date": .date(date), "list": .array([.string("a"), .integer(1)]), "nested": .dictionary(["key": .array([.boolean(false)])]),
            "long": .array((0..<20).map { .string("entry \($0)") }),
        ]
        #expect(try ProfileValue(propertyList: data, source: "a.plist") == .dictionary(expected))
    }

    /// Reading a file with any damaged byte must not trap or hang; a truncated one is an error.
    @Test(.computation) func `a damaged binary property list does not crash the reader`() throws {
        let whole = try Array(Fixture.data("corporate-binary.mobileconfig"))
        for position in whole.indices {
            for value in [UInt8(0x00), 0xFF, 0xAF, 0xDF] {
                var bytes = whole
                bytes[position] = value
                _ = try? Profile.check(data: Data(bytes), source: "damaged.mobileconfig")
            }
        }
        for length in 0..<whole.count {
            #expect(throws: ProfileError.self) { try Profile(data: Data(whole[..<length]), source: "cut.mobileconfig") }
        }
    }

    @Test func `a value is printed on one line`() {
        let value = ProfileValue.dictionary(["b": .array([.string("x\ny"), .integer(1)]), "a": .data(Data([1, 2]))])
        #expect(value.description == "{a: 2 bytes, b: [\"x\\ny\", 1]}")
    }
}
