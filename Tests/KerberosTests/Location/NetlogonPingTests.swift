import TestSupport
import Testing

@testable import Kerberos

/// The question to a domain controller about its site, and the answers, including malformed ones.
struct NetlogonPingTests {
    /// One answer of Samba 4.17, and what it says.
    struct Row: Decodable, CustomTestStringConvertible {
        let name: String
        let datagram: String
        let domain: String
        let host: String
        let netBIOSName: String
        let site: String
        let clientSite: String?

        var testDescription: String { name }
    }

    struct Table: Decodable {
        let request: String
        let answers: [Row]
        let refused: [String]
    }

    private static func table() throws -> Table { try FixtureFile.load("netlogon", in: .module, as: Table.self) }

    /// The request in the file was encoded independently, and a controller answered it.
    @Test func `the request asks for the domain by its DNS name`() throws {
        #expect(NetlogonPing(domain: "ad.test", identifier: 1).message == (try bytes(hexadecimal: Self.table().request)))
    }

    @Test(arguments: try table().answers) func `an answer is read`(row: Row) throws {
        let answer = try #require(NetlogonAnswer(bytes(hexadecimal: row.datagram)))
        #expect(answer.domain == row.domain && answer.forest == row.domain && answer.host == row.host)
        #expect(answer.netBIOSName == row.netBIOSName && answer.site == row.site && answer.clientSite == row.clientSite)
        #expect(answer.isKDC && answer.isWritable)
    }

    @Test(arguments: [1, 127, 128, 255, 256, 65_535, 8_388_608, Int32.max]) func `an answer repeats the number of its request`(
        number: Int32
    ) {
        let ping = NetlogonPing(domain: "ad.test", identifier: number)
        #expect(ping.isAnswered(by: ping.message))
        #expect(!NetlogonPing(domain: "ad.test", identifier: number - 1).isAnswered(by: ping.message))
    }

    @Test func `the number of a request is random`() {
        #expect(Set((0..<20).map { _ in NetlogonPing(domain: "ad.test").identifier }).count > 1)
        #expect(!NetlogonPing(domain: "ad.test").isAnswered(by: [0x30, 0]))
    }

    @Test(arguments: try table().refused) func `another datagram is no answer`(datagram: String) throws {
        #expect(NetlogonAnswer(try bytes(hexadecimal: datagram)) == nil)
    }

    @Test func `a truncated answer is no answer`() throws {
        let bytes = try bytes(hexadecimal: #require(try Self.table().answers.first).datagram)
        // The search's result follows the entry in the same datagram, and is not read.
        let entry = Int(bytes[1]) + 2
        for length in 0..<entry { #expect(NetlogonAnswer(Array(bytes.prefix(length))) == nil, "\(length)") }
        #expect(NetlogonAnswer(Array(bytes.prefix(entry))) != nil)
    }

    @Test func `no changed byte makes the reader fail`() throws {
        let bytes = try bytes(hexadecimal: #require(try Self.table().answers.last).datagram)
        var read = 0
        for index in bytes.indices {
            for value: UInt8 in [0, 1, 63, 64, 0x7F, 0x80, 0x84, 0xC0, 0xFF] {
                var changed = bytes
                changed[index] = value
                if let answer = NetlogonAnswer(changed) {
                    read += 1
                    #expect(!answer.domain.isEmpty && !answer.host.isEmpty)
                }
            }
        }
        #expect(read > 0)
    }

    @Test(arguments: ["Berlin", "Default-First-Site-Name", "site_1"]) func `a site is a label of a DNS name`(name: String) {
        #expect(DomainLocator.isSite(name))
    }

    @Test(arguments: ["", "a.b", "a b", "a/b", String(repeating: "a", count: 64), "https://kdc.test"])
    func `other texts are not used as a site`(name: String) {
        #expect(!DomainLocator.isSite(name))
    }
}
