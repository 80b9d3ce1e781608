extension Request {
    /// The version of the protocol.
    package static let majorVersion: UInt8 = 2

    /// Reads a request from its version on; what follows its body is no matter, as in libkrb5.
    ///
    /// Any minor version will do: none but zero was ever sent, and a later one can't mean something else by the same operation.
    package init(_ frame: [UInt8]) throws(RequestError) {
        guard frame.count >= 4, frame[0] == Self.majorVersion else { throw .unsupportedVersion(frame.first ?? 0) }
        let number = UInt16(frame[2]) << 8 | UInt16(frame[3])
        guard let operation = Operation(rawValue: number) else { throw .unknownOperation(number) }
        do {
            var reader = ByteReader(frame[4...])
            self = try Request(operation, from: &reader)
        } catch {
            throw .malformedBody(operation, error)
        }
    }

    private init(_ operation: Operation, from reader: inout ByteReader) throws(MalformedInput) {
        switch operation {
        case .noOperation: self = .noOperation
        case .generateName: self = .generateName
        case .cacheIdentifiers: self = .cacheIdentifiers
        case .defaultCache: self = .defaultCache
        case .cacheName: self = .cacheName(try Identifier(from: &reader))
        default: self = try Request(operation, CacheName(reader.terminatedBytes("name")), from: &reader)
        }
    }

    /// The operations on one cache.
    private init(_ operation: Operation, _ name: CacheName, from reader: inout ByteReader) throws(MalformedInput) {
        switch operation {
        // These have no name and were read before; they are here so that a new operation cannot be forgotten.
        case .noOperation, .generateName, .cacheIdentifiers, .defaultCache, .cacheName: self = .noOperation
        case .initialize: self = .initialize(name, try MarshalledPrincipal(from: &reader))
        case .destroy: self = .destroy(name)
        case .store: self = .store(name, try MarshalledCredential(from: &reader))
        case .retrieve: self = .retrieve(name, try CredentialPattern(from: &reader))
        case .principal: self = .principal(name)
        case .credentialIdentifiers: self = .credentialIdentifiers(name)
        case .credential: self = .credential(name, try Identifier(from: &reader))
        case .remove: self = .remove(name, try CredentialPattern(from: &reader))
        case .setFlags: self = .setFlags(name, try reader.number("flags"))
        case .move: self = .move(name, to: CacheName(try reader.terminatedBytes("new name")))
        case .setDefaultCache: self = .setDefaultCache(name)
        case .clockOffset: self = .clockOffset(name)
        case .setClockOffset: self = .setClockOffset(name, try reader.number("clock offset"))
        case .credentialList: self = .credentialList(name)
        case .replace: self = .replace(name, try Replacement(from: &reader))
        }
    }
}
