import Foundation
import Testing

@testable import ExtensionProfile

/// Files that a parser would take very long for, or would exhaust the stack with.
@Suite struct NestedProfileTests {
    /// Foundation's parser calls itself for each level, and does not see the ends of elements in comments and CDATA sections.
    @Test(arguments: [
        "<array>", "<dict><key>a</key>", "<array\n>", "<array><!--</array>-->", "<array><!--></array>-->", "<array><?x </array>?>",
        "<array><string><![CDATA[</array>]]></string>", "<dict><key><![CDATA[</dict>]]></key>", "<array/><array>", "<array/ >", "<plist>",
    ])
    func `an XML property list that is nested without end is refused before it is parsed`(_ level: String) throws {
        let text = "<plist version=\"1.0\">" + String(repeating: level, count: 30_000)
        for data in [Data(text.utf8), try #require(text.data(using: .utf16))] where data.count <= 1 << 20 {
            let error = try #require(throws: ProfileError.self) { try Profile(data: data, source: "a.mobileconfig") }
            #expect(error.code == .malformed && error.reason.contains("nested deeper"), "\(error)")
        }
    }

    @Test func `what is in comments and CDATA sections does not count as nesting`() throws {
        let many = String(repeating: "<!-- <dict><array> --><string><![CDATA[<dict>]]></string>", count: 100)
        let text = "<?xml version=\"1.0\"?><!DOCTYPE plist><plist version=\"1.0\"><array>\(many)<true/><array/></array></plist>"
        let value = try ProfileValue(propertyList: Data(text.utf8), source: "a.plist")
        #expect(value.array?.count == 102)
    }

    /// A list of 40 lists, each of which contains the next one. The innermost is counted first, when it is not deep yet.
    @Test func `a binary property list is as deep as its longest chain`() {
        func list(of length: Int) -> Data {
            let first = [0xAF, 0x10, UInt8(length)] + (1...UInt8(length)).reversed()
            let objects = [first] + (1..<UInt8(length)).map { [0xA1, $0 + 1] } + [[0xA0]]
            var bytes = Array("bplist00".utf8)
            let offsets = objects.map { object -> UInt8 in
                defer { bytes += object }
                return UInt8(bytes.count)
            }
            let table = UInt8(bytes.count)
            let trailer = [UInt8](repeating: 0, count: 6) + [1, 1] + [0, 0, 0, 0, 0, 0, 0, UInt8(objects.count)]
            return Data(bytes + offsets + trailer + [UInt8](repeating: 0, count: 15) + [table])
        }
        #expect(BinaryPropertyListOutline(list(of: 30)).isModest)
        #expect(!BinaryPropertyListOutline(list(of: 40)).isModest)
    }

    /// The parser compares the keys of a mapping, which takes a time that doubles with each of these lines.
    @Test(arguments: [("{\"k\":", "}"), ("{?", ":}"), ("\r", ""), ("\u{85}", ""), ("\u{2028}", ""), ("\u{2029}", "")])
    func `aliases are counted wherever the parser reads one`(_ before: String, _ after: String) throws {
        var text = "l0: &l0 [x]\n"
        for level in 1...40 {
            let alias = "\(before)*l\(level - 1)\(after)"
            text += "l\(level): &l\(level) [\(alias),\(alias)]\n"
        }
        text += "? *l40\n: x\n"
        let error = try #require(throws: ProfileError.self) { try ProfileValue.documents(yaml: text, source: "a.yaml") }
        #expect(error.reason.contains("81 aliases"), "\(error)")
    }
}
