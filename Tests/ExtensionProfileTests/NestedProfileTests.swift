import Foundation
import Testing

@testable import ExtensionProfile

/// Files that a parser would take very long for, or would exhaust the stack with.
@Suite struct NestedProfileTests {
    /// Foundation's parser calls itself for each level, and does not see the ends of elements in comments and CDATA sections.
    @Test(arguments: [
        "<array>", "<dict><key>a</key>", "<array\n>", "<array><!--</array>-->", "<array><!--></array>-->", "<array><?x </array>?>",
        "<array><?>", "<array><string><![CDATA[</array>]]></string>", "<dict><key><![CDATA[</dict>]]></key>", "<array/><array>",
        "<array/ >", "<plist>",
    ])
    func `an XML property list that is nested without end is refused before it is parsed`(_ level: String) throws {
        let text = "<plist version=\"1.0\">" + String(repeating: level, count: 30_000)
        for data in [Data(text.utf8), try #require(text.data(using: .utf16))] where data.count <= 1 << 20 {
            let error = try #require(throws: ProfileError.self) { try Profile(data: data, source: "a.mobileconfig") }
            #expect(error.code == .malformed && error.reason.contains("nested deeper"), "\(error)")
        }
    }

    /// Otherwise the check and the parser could read different bytes: the parser recognizes UTF-32, and encodings that a file declares.
    @Test(arguments: [
        (Data([0xFE, 0xFF, 0, 0]), String.Encoding.utf32LittleEndian), (Data([0xFF, 0xFE, 0, 0]), .utf32LittleEndian),
        (Data([0, 0, 0xFE, 0xFF]), .utf32BigEndian),
    ])
    func `a property list in UTF-32 is refused before it is parsed`(mark: Data, encoding: String.Encoding) throws {
        let text = "<plist version=\"1.0\">" + String(repeating: "<array>", count: 37_000)
        let data = try mark + #require(text.data(using: encoding))
        let error = try #require(throws: ProfileError.self) { try Profile(data: data, source: "a.mobileconfig") }
        #expect(error.code == .malformed && error.reason.contains("not a property list"), "\(error)")
    }

    @Test(arguments: ["UTF-8", "UTF-16", "UTF-7", "ISO-8859-1"])
    func `the encoding that a property list declares has no effect`(name: String) throws {
        let text = "<?xml version=\"1.0\" encoding=\"\(name)\"?>\n<plist version=\"1.0\"><string>Zürich +ADw-</string></plist>"
        for data in [Data(text.utf8), Data("\u{FEFF}\(text)".utf8), try #require(text.data(using: .utf16))] {
            #expect(try ProfileValue(propertyList: data, source: "a.plist") == .string("Zürich +ADw-"))
        }
    }

    @Test(arguments: ["<array", "<!-- ", "<![CDATA[", "<?x", "<!DOCTYPE "])
    func `a property list that ends within a tag is refused before it is parsed`(end: String) throws {
        let data = Data("<plist version=\"1.0\"><array>\(end)".utf8)
        let error = try #require(throws: ProfileError.self) { try Profile(data: data, source: "a.mobileconfig") }
        #expect(error.code == .malformed && error.reason.contains("ends within a tag"), "\(error)")
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
