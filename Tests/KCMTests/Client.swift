import Testing

@testable import KCM

/// A client of a credential store that sends encoded requests over one connection.
struct Client {
    var store: CredentialStore
    var connection = ConnectionState()
    var now: UInt32 = 1500
    /// The numbers of stored credentials that the last request was compared with, one for each turn that it took.
    var turns: [Int] = []
    var examined: Int { turns.reduce(0, +) }

    init(user: UInt32 = 1000, limits: StoreLimits = StoreLimits()) { store = CredentialStore(user: user, limits: limits) }

    /// A client with an empty cache for alice.
    static func signedIn(_ name: String = "", limits: StoreLimits = StoreLimits()) -> Client {
        var client = Client(limits: limits)
        _ = client.send(.initialize, name, Sample.alice)
        return client
    }

    mutating func send(_ operation: KCM.Operation, _ name: String? = nil, _ body: [UInt8] = []) -> Reply {
        var writer = ByteWriter()
        writer.write(UInt16(0x0200))
        writer.write(operation.rawValue)
        if let name { writer.write(CacheName(name).terminated) }
        writer.write(body)
        return send(writer.bytes)
    }

    mutating func send(_ frame: [UInt8]) -> Reply {
        do {
            let request = try Request(frame)
            turns = []
            while true {
                let decision = store.decide(request, connection: &connection, now: now)
                turns.append(decision.examined)
                for change in decision.changes { store.apply(change) }
                if !connection.isUnfinished { return decision.reply }
            }
        } catch {
            return Reply(code: error.replyCode ?? ReplyCode(rawValue: .min))
        }
    }

    mutating func store(_ fields: Fields, in name: String = "") -> ReplyCode { send(.store, name, fields.bytes).code }

    mutating func retrieve(_ fields: Fields, _ match: MatchFlags = [], from name: String = "") -> Reply {
        send(.retrieve, name, fields.patternBytes(match))
    }

    /// The credentials as GET_CRED_LIST returns them.
    mutating func list(_ name: String = "") throws -> [[UInt8]] {
        var reader = ByteReader(send(.credentialList, name).body)
        let count = try reader.number("count", as: UInt32.self)
        var list: [[UInt8]] = []
        for _ in 0..<count { list.append(Array(try reader.countedBytes("credential"))) }
        #expect(reader.rest.isEmpty)
        return list
    }

    /// The names of the caches, listed as a client iterates over the collection.
    mutating func names() -> [String] {
        identifiers(send(.cacheIdentifiers)).map { name(send(.cacheName, nil, $0)) }
    }

    mutating func defaultName() -> String { name(send(.defaultCache)) }
}

/// The name in a reply.
func name(_ reply: Reply) -> String {
    #expect(reply.body.last == 0)
    return String(decoding: reply.body.dropLast(), as: UTF8.self)
}

/// The identifiers in a reply.
func identifiers(_ reply: Reply) -> [[UInt8]] {
    #expect(reply.body.count.isMultiple(of: 16))
    return stride(from: 0, to: reply.body.count, by: 16).map { Array(reply.body[$0..<$0 + 16]) }
}

/// A number in the protocol's encoding.
func encoded(_ number: Int32) -> [UInt8] {
    var writer = ByteWriter()
    writer.write(number)
    return writer.bytes
}

/// The part of a REPLACE request that follows the name.
func replacement(offset: Int32 = 0, principal: [UInt8] = Sample.alice, _ credentials: [Fields]) -> [UInt8] {
    var writer = ByteWriter()
    writer.write(offset)
    writer.write(principal)
    writer.write(UInt32(credentials.count))
    for credential in credentials { writer.writeCounted(credential.bytes) }
    return writer.bytes
}
