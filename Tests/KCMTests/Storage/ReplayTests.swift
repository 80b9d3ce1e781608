import Testing

@testable import KCM

/// Recorded sessions of real clients, replayed against the store, which must reply as the recorded server did.
struct ReplayTests {
    @Test(arguments: Exchange.recordings) func `every recorded request gets the recorded reply`(recording: String) throws {
        let exchanges = try Exchange.all(recording)
        #expect(exchanges.count > 100)
        var client = Client()
        var connections: [Int: ConnectionState] = [:]
        // Maps the recorded server's identifiers to the store's.
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

    /// The request with the recorded identifier at its end replaced by the store's.
    private func translated(_ exchange: Exchange, _ known: [[UInt8]: [UInt8]]) -> [UInt8] {
        let request = bytes(exchange.request)
        guard exchange.operation == KCM.Operation.credential.rawValue || exchange.operation == KCM.Operation.cacheName.rawValue else {
            return request
        }
        let identifier = Array(request.suffix(16))
        return request.dropLast(16) + (known[identifier] ?? identifier)
    }
}
