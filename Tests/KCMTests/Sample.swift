@testable import KCM

/// Builds the principals and credentials that the tests send.
enum Sample {
    static func principal(_ components: String..., realm: String = "EXAMPLE.TEST", type: UInt32 = 1) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(type)
        writer.write(UInt32(components.count))
        writer.writeCounted(Array(realm.utf8))
        for component in components { writer.writeCounted(Array(component.utf8)) }
        return writer.bytes
    }

    static let alice = principal("alice")
    static let bob = principal("bob")
    static let service = principal("HTTP", "server")

    static func list(_ elements: [[UInt8]]) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(UInt32(elements.count))
        for element in elements {
            writer.write(UInt16(1))
            writer.writeCounted(element)
        }
        return writer.bytes
    }

    static func setting(_ key: String, value: String, client: [UInt8] = alice) -> Fields {
        Fields(
            client: client,
            server: principal("krb5_ccache_conf_data", key, realm: "X-CACHECONF:"),
            type: 0,
            times: CredentialTimes(),
            flags: 0,
            ticket: Array(value.utf8)
        )
    }

    static func ticket(_ number: Int, client: [UInt8] = alice, end: UInt32 = 2000) -> Fields {
        Fields(client: client, server: principal("HTTP", "server\(number)"), times: CredentialTimes(start: 1000, end: end))
    }
}

/// The fields of a credential or of a pattern.
struct Fields {
    var client: [UInt8]? = Sample.alice
    var server: [UInt8]? = Sample.service
    var type: Int16 = 18
    var key: [UInt8] = Array("sixteen byte key".utf8)
    var times = CredentialTimes(authentication: 1000, start: 1000, end: 2000, renewTill: 3000)
    var isSessionKey: UInt8 = 0
    var flags: UInt32 = 0x4000_0000
    var addresses: [[UInt8]] = []
    var authorizationData: [[UInt8]] = []
    var ticket: [UInt8] = Array("ticket".utf8)
    var secondTicket: [UInt8] = []

    /// Returns a changed copy.
    func with(_ change: (inout Fields) -> Void) -> Fields {
        var copy = self
        change(&copy)
        return copy
    }

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.write(client ?? [])
        writer.write(server ?? [])
        writeKey(to: &writer)
        writeTimes(to: &writer)
        writer.write(Sample.list(addresses))
        writer.write(Sample.list(authorizationData))
        writer.writeCounted(ticket)
        writer.writeCounted(secondTicket)
        return writer.bytes
    }

    func credential() throws -> MarshalledCredential { try MarshalledCredential(bytes) }

    /// The match flags, the header and the fields that are present, as RETRIEVE encodes them.
    func patternBytes(_ match: MatchFlags = []) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(match.rawValue)
        let present: [(Bool, UInt32)] = [
            (client != nil, 1), (server != nil, 2), (type != 0, 4), (!ticket.isEmpty, 8), (!secondTicket.isEmpty, 0x10),
            (!authorizationData.isEmpty, 0x20), (!addresses.isEmpty, 0x40),
        ]
        writer.write(present.reduce(UInt32(0)) { $0 | ($1.0 ? $1.1 : 0) })
        writer.write(client ?? [])
        writer.write(server ?? [])
        if type != 0 { writeKey(to: &writer) }
        writeTimes(to: &writer)
        if !addresses.isEmpty { writer.write(Sample.list(addresses)) }
        if !authorizationData.isEmpty { writer.write(Sample.list(authorizationData)) }
        if !ticket.isEmpty { writer.writeCounted(ticket) }
        if !secondTicket.isEmpty { writer.writeCounted(secondTicket) }
        return writer.bytes
    }

    func pattern(_ match: MatchFlags = []) throws -> CredentialPattern { try CredentialPattern(patternBytes(match)) }

    private func writeKey(to writer: inout ByteWriter) {
        writer.write(type)
        writer.writeCounted(key)
    }

    private func writeTimes(to writer: inout ByteWriter) {
        for time in [times.authentication, times.start, times.end, times.renewTill] { writer.write(time) }
        writer.write(isSessionKey)
        writer.write(flags)
    }
}
