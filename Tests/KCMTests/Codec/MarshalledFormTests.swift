import NIOCore
import Testing

@testable import KCM

/// Parsing of marshalled principals, credentials and patterns, and the encoding of replies.
struct MarshalledFormTests {
    @Test func `a parsed principal keeps its bytes`() throws {
        let source = Sample.principal("a\0b", "", realm: "REALM\0", type: 0xFFFF_FFFF)
        let principal = try MarshalledPrincipal(source + [0])
        #expect(Array(principal.bytes) == source)
        #expect(Array(principal.realm) == Array("REALM\0".utf8))
    }

    @Test func `a comparison of principals ignores the name type`() throws {
        let one = try MarshalledPrincipal(Sample.principal("alice", type: 0))
        let other = try MarshalledPrincipal(Sample.principal("alice", type: 10))
        #expect(one.isSame(as: other))
        #expect(one != other)
    }

    @Test(arguments: [
        (Sample.principal("a", "bc"), Sample.principal("ab", "c")), (Sample.principal("a"), Sample.principal("a", "")),
        (Sample.principal("a"), Sample.principal("A")), (Sample.principal("a"), Sample.principal("a\0")),
    ])
    func `principals are compared component by component`(one: [UInt8], other: [UInt8]) throws {
        let (one, other) = (try MarshalledPrincipal(one), try MarshalledPrincipal(other))
        #expect(!one.isSame(as: other))
        #expect(!one.hasSameComponents(as: other))
    }

    @Test func `all fields of a credential are parsed`() throws {
        let fields = Fields(
            type: -3,
            isSessionKey: 1,
            addresses: [[127, 0, 0, 1]],
            authorizationData: [[1], [2, 3]],
            secondTicket: Array("second".utf8)
        )
        let credential = try MarshalledCredential(fields.bytes + [0])
        #expect(credential.bytes == fields.bytes)
        #expect(Array(credential.client.bytes) == Sample.alice)
        #expect(Array(credential.server.bytes) == Sample.service)
        #expect(credential.encryptionType == -3)
        #expect(credential.times == fields.times)
        #expect(credential.isSessionKey)
        #expect(credential.ticketFlags == fields.flags)
        #expect(Array(credential.authorizationData) == Sample.list([[1], [2, 3]]))
        #expect(Array(credential.ticket) == fields.ticket)
        #expect(Array(credential.secondTicket) == fields.secondTicket)
    }

    @Test func `a credential's description does not reveal its contents`() throws {
        let credential = try Fields().credential()
        var dumped = ""
        dump(credential, to: &dumped)
        #expect("\(credential)" == "a credential of \(credential.bytes.count) bytes")
        #expect(String(reflecting: credential) == "\(credential)")
        #expect(!dumped.contains("115") && dumped.count < 60)
    }

    @Test func `a pattern has only the fields that its header lists`() throws {
        let none = Fields(client: nil, server: nil, type: 0, ticket: [])
        let pattern = try none.pattern()
        #expect(pattern.client == nil && pattern.server == nil && pattern.encryptionType == 0)
        #expect(pattern.secondTicket.isEmpty)
        #expect(Array(pattern.authorizationData) == [0, 0, 0, 0])
    }

    @Test func `a pattern's fields are read in wire order`() throws {
        let fields = Fields(addresses: [[1, 2]], authorizationData: [[9]], secondTicket: [7])
        let pattern = try fields.pattern([.times])
        #expect(pattern.match == .times)
        #expect(Array(pattern.authorizationData) == Sample.list([[9]]))
        #expect(Array(pattern.secondTicket) == [7])
        #expect(pattern.times == fields.times)
    }

    @Test func `a parse error reports the field and its offset`() {
        #expect(throws: MalformedInput(field: "realm", offset: 8)) { try MarshalledPrincipal(Array(Sample.alice.prefix(14))) }
        #expect("\(MalformedInput(field: "realm", offset: 8))" == "realm at byte 8 extends past the end")
    }

    @Test func `a reply's transport code is zero`() {
        var buffer = ByteBuffer()
        Reply(code: .noCache).write(to: &buffer)
        #expect(buffer == ByteBuffer(bytes: [0, 0, 0, 4, 0, 0, 0, 0, 0x96, 0xC7, 0x3A, 0xC3]))
        buffer.clear()
        Reply(body: [65, 0]).write(to: &buffer)
        #expect(buffer == ByteBuffer(bytes: [0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 65, 0]))
    }
}
