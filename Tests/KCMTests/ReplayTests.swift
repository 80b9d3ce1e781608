import Testing

@testable import KCM

/// The recorded sessions of real clients against the store: they are given what the recording server gave.
struct ReplayTests {
    @Test(arguments: Exchange.recordings) func `every recorded request gets its answer`(recording: String) throws {
        let exchanges = try Exchange.all(recording)
        #expect(exchanges.count > 100)
        var client = Client()
        var connections: [Int: ConnectionState] = [:]
        // The identifiers of the recording server and those of the store for the same thing.
        var known: [[UInt8]: [UInt8]] = [:]
        for exchange in exchanges where exchange.code != ReplyCode.unsupported.rawValue {
            client.connection = connections[exchange.connection] ?? ConnectionState()
            let reply = client.send(translated(exchange, known))
            connections[exchange.connection] = client.connection
            #expect(reply.code.rawValue == exchange.code, "\(exchange.testDescription)")
            let operation = KCM.Operation(rawValue: exchange.operation)
            if operation == .cacheIdentifiers || operation == .credentialIdentifiers {
                let recorded = identifiers(Reply(body: bytes(exchange.reply)))
                #expect(recorded.count == identifiers(reply).count, "\(exchange.testDescription)")
                for (theirs, ours) in zip(recorded, identifiers(reply)) { known[theirs] = ours }
            } else if operation != .generateName {
                #expect(reply.body == bytes(exchange.reply), "\(exchange.testDescription)")
            }
        }
    }

    /// The request with the store's own identifier at its end.
    private func translated(_ exchange: Exchange, _ known: [[UInt8]: [UInt8]]) -> [UInt8] {
        let request = bytes(exchange.request)
        guard exchange.operation == KCM.Operation.credential.rawValue || exchange.operation == KCM.Operation.cacheName.rawValue else {
            return request
        }
        let identifier = Array(request.suffix(16))
        return request.dropLast(16) + (known[identifier] ?? identifier)
    }
}
