import Testing

@testable import Kerberos

/// Parsing of DNS responses, including malformed ones.
struct DNSMessageTests {
    /// A response to one question, with two records whose names are compression pointers.
    private static let answer: [UInt8] =
        [0, 1, 0x81, 0x80, 0, 1, 0, 2, 0, 0, 0, 0] + name("_kerberos", "_udp", "example", "test") + [0, 33, 0, 1]
        + [0xC0, 12, 0, 33, 0, 1, 0, 0, 0, 60, 0, 12] + [0, 20, 0, 5, 0, 88] + [3] + Array("kdc".utf8) + [0xC0, 27]
        + [0xC0, 12, 0, 33, 0, 1, 0, 0, 0, 60, 0, 18] + [0, 10, 0, 0, 3, 120] + name("kdc1", "other", "")

    private static func name(_ labels: String...) -> [UInt8] {
        labels.filter { !$0.isEmpty }.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0]
    }

    /// The first record of the response, and its end; the second one, of 30 bytes, has the higher priority.
    private static let first = ServiceRecord(priority: 20, weight: 5, port: 88, target: "kdc.example.test")
    private static let endOfFirst = answer.count - 30

    @Test func `SRV records are sorted by priority`() {
        let second = ServiceRecord(priority: 10, weight: 0, port: 888, target: "kdc1.other")
        #expect(ServiceRecord.records(in: Self.answer) == [second, Self.first])
    }

    @Test func `a truncated DNS response yields exactly its complete records`() {
        for length in 0..<Self.answer.count {
            let records = ServiceRecord.records(in: Array(Self.answer.prefix(length)))
            #expect(records == (length < Self.endOfFirst ? [] : [Self.first]), "\(length)")
        }
    }

    @Test func `a changed byte of a DNS response affects no record that precedes it`() {
        for index in Self.answer.indices {
            for value: UInt8 in [0, 1, 63, 64, 0xC0, 0xFF] {
                var answer = Self.answer
                answer[index] = value
                let records = ServiceRecord.records(in: answer)
                #expect(records.count <= 2)
                if index >= Self.endOfFirst { #expect(records.contains(Self.first), "\(index)") }
            }
        }
    }

    @Test func `a compression pointer to itself does not loop`() {
        let header: [UInt8] = [0, 1, 0x81, 0x80, 0, 0, 0, 1, 0, 0, 0, 0]
        let loop = header + [0, 0, 33, 0, 1, 0, 0, 0, 60, 0, 8, 0, 1, 0, 1, 0, 88, 0xC0, 29]
        #expect(ServiceRecord.records(in: loop).isEmpty)
    }

    /// A response with one SRV record of a target.
    private static func serviceAnswer(_ target: [UInt8]) -> [UInt8] {
        [0, 1, 0x81, 0x80, 0, 0, 0, 1, 0, 0, 0, 0] + [0, 0, 33, 0, 1, 0, 0, 0, 60, UInt8((target.count + 6) >> 8)]
            + [UInt8((target.count + 6) & 0xFF)] + [0, 1, 0, 1, 0, 88] + target
    }

    @Test func `a name has at most 255 bytes`() {
        let label = [63] + [UInt8](repeating: 97, count: 63)
        let longest = label + label + label + [61] + [UInt8](repeating: 98, count: 61) + [0]
        #expect(longest.count == 255 && ServiceRecord.records(in: Self.serviceAnswer(longest)).first?.target.utf8.count == 253)
        let longer = label + label + label + [62] + [UInt8](repeating: 98, count: 62) + [0]
        #expect(ServiceRecord.records(in: Self.serviceAnswer(longer)).isEmpty)
    }

    @Test func `a label that contains a dot is not read as two labels`() {
        #expect(ServiceRecord.records(in: Self.serviceAnswer(Self.name("kdc", "example", "test"))).count == 1)
        #expect(ServiceRecord.records(in: Self.serviceAnswer(Self.name("kdc.example", "test"))).isEmpty)
    }

    /// A response with one URI record. Its target is not a domain name, and extends to the end of the record.
    private static func uriAnswer(_ target: String) -> [UInt8] {
        [0, 1, 0x81, 0x80, 0, 0, 0, 1, 0, 0, 0, 0] + name("_kerberos", "") + [1, 0, 0, 1, 0, 0, 0, 60, 0, UInt8(target.utf8.count + 4)]
            + [0, 10, 0, 1] + Array(target.utf8)
    }

    @Test(
        arguments: [
            ("krb5srv:m:tcp:kdc.example.test:750", "kdc.example.test:750 TCP"), ("krb5srv::udp:kdc", "kdc:88 UDP"),
            ("KRB5SRV:m:TCP:[fd00::2]:99", "[fd00::2]:99 TCP"),
            ("krb5srv:m:kkdcp:https://proxy.example.test/KdcProxy", "https://proxy.example.test/KdcProxy"), ("krb5srv:m:sctp:kdc", nil),
            ("krb5srv:m:tcp:", nil), ("krb5srv:tcp:kdc", nil), ("http://kdc", nil), ("krb5srv:m:tcp:https://kdc", nil), ("", nil),
        ] as [(String, String?)]
    )
    func `URI records become KDC addresses or proxy URLs`(target: String, expected: String?) {
        let answer = Self.uriAnswer(target)
        let places = LocationRecord.records(in: answer).map { record in
            switch record.place {
            case .keyDistributionCenter(let address, let transport): "\(address) \(transport.rawValue)"
            case .proxy(let url): url
            }
        }
        #expect(places == (expected.map { [$0] } ?? []))
        for length in answer.indices { #expect(LocationRecord.records(in: Array(answer.prefix(length))).isEmpty) }
    }

    @Test(
        arguments: [
            ("kdc.example.test", "kdc.example.test:88"), ("kdc:750", "kdc:750"), ("[::1]:99", "[::1]:99"), ("::1", "[::1]:88"),
            ("[fd00::2]", "[fd00::2]:88"), ("https://proxy.example.test/KdcProxy", nil), ("tcp/kdc", nil),
        ] as [(String, String?)]
    )
    func `a KDC address in krb5.conf has port 88 by default`(text: String, address: String?) {
        #expect(KDCAddress(text)?.description == address)
    }
}
