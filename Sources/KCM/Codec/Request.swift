/// A decoded request: the operation and its arguments.
package enum Request: Sendable {
    case noOperation
    case generateName
    case initialize(CacheName, MarshalledPrincipal)
    case destroy(CacheName)
    case store(CacheName, MarshalledCredential)
    case retrieve(CacheName, CredentialPattern)
    case principal(CacheName)
    case credentialIdentifiers(CacheName)
    case credential(CacheName, Identifier)
    case remove(CacheName, CredentialPattern)
    case setFlags(CacheName, UInt32)
    case move(CacheName, to: CacheName)
    case cacheIdentifiers
    case cacheName(Identifier)
    case defaultCache
    case setDefaultCache(CacheName)
    case clockOffset(CacheName)
    case setClockOffset(CacheName, Int32)
    case credentialList(CacheName)
    case replace(CacheName, Replacement)
}

extension Request {
    /// The major version of the protocol.
    package static let majorVersion: UInt8 = 2

    /// Decodes a request, starting at its version. Ignores bytes after the body, as libkrb5 does.
    ///
    /// Accepts every minor version: only zero was ever sent, and a later minor version cannot change the meaning of an operation.
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
        guard storedCredentials.allSatisfy(\.isStorable) else { throw .unstorableCredential(operation) }
    }

    /// The credentials that the request adds to a cache.
    private var storedCredentials: [MarshalledCredential] {
        switch self {
        case .store(_, let credential): [credential]
        case .replace(_, let replacement): replacement.credentials
        default: []
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

    /// Decodes an operation on a named cache.
    private init(_ operation: Operation, _ name: CacheName, from reader: inout ByteReader) throws(MalformedInput) {
        switch operation {
        // These operations have no name and were decoded before. They are listed so that the compiler reports a missing new operation.
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

/// The contents that REPLACE gives to a cache.
package struct Replacement: Sendable {
    /// The number of seconds by which the KDC's clock is ahead of this machine's.
    package let clockOffset: Int32
    /// The client principal of the cache.
    package let principal: MarshalledPrincipal
    package let credentials: [MarshalledCredential]

    package init(clockOffset: Int32, principal: MarshalledPrincipal, credentials: [MarshalledCredential]) {
        self.clockOffset = clockOffset
        self.principal = principal
        self.credentials = credentials
    }

    init(from reader: inout ByteReader) throws(MalformedInput) {
        clockOffset = try reader.number("clock offset")
        principal = try MarshalledPrincipal(from: &reader)
        let begin = reader.offset
        let count = Int(try reader.number("number of credentials", as: UInt32.self))
        // Each credential takes at least four bytes. The check prevents an allocation for an arbitrary count.
        guard count <= reader.rest.count / 4 else { throw MalformedInput(field: "number of credentials", offset: begin) }
        var credentials: [MarshalledCredential] = []
        for _ in 0..<count {
            var part = ByteReader(try reader.countedBytes("credential"))
            credentials.append(try MarshalledCredential(from: &part))
        }
        self.credentials = credentials
    }
}

/// The beginning of a REPLACE request, from which the room that its contents need is known.
struct ReplacementOutline {
    let name: CacheName
    /// The estimated memory of the cache, as in ``CredentialCache/cost``.
    let cost: Int

    /// Reads the beginning of a request, starting at its version.
    ///
    /// - Parameter length: The length of the whole request.
    init(_ beginning: [UInt8], length: Int) throws(MalformedInput) {
        var reader = ByteReader(beginning)
        _ = try reader.number("version and operation", as: UInt32.self)
        name = CacheName(try reader.terminatedBytes("name"))
        _ = try reader.number("clock offset", as: Int32.self)
        let principal = try MarshalledPrincipal(from: &reader)
        let count = Int(try reader.number("number of credentials", as: UInt32.self))
        let bytes = max(0, length - reader.offset - 4 * count)
        cost = CredentialCache.cost(name: name, principal: principal, credentials: count, bytes: bytes)
    }
}

/// The reason why a complete request cannot be executed.
package enum RequestError: Error, Hashable, Sendable {
    /// The request has an unknown protocol version, whose reply format is unknown too.
    case unsupportedVersion(UInt8)
    /// The request has an unknown operation.
    case unknownOperation(UInt16)
    /// The operation is known, but its body is truncated.
    case malformedBody(Operation, MalformedInput)
    /// The request stores a credential that a restart would take for a removed one, or for the end of the file.
    case unstorableCredential(Operation)

    /// The code to reply with; nil if the connection must be closed.
    ///
    /// An unknown operation must be answered, because the client then tries others. A malformed body gets a code that ends the operation;
    /// because its frame was complete, the connection stays open.
    package var replyCode: ReplyCode? {
        switch self {
        case .unsupportedVersion: nil
        case .unknownOperation: .unsupported
        case .malformedBody, .unstorableCredential: .malformed
        }
    }
}

/// An operation that MIT libkrb5 1.20 and later or Heimdal's client sends. There is no specification; `kcm.h` defines the names.
package enum Operation: UInt16, CaseIterable, Sendable {
    /// `KCM_OP_NOOP`
    case noOperation = 0
    /// `KCM_OP_GEN_NEW`
    case generateName = 3
    /// `KCM_OP_INITIALIZE`
    case initialize = 4
    /// `KCM_OP_DESTROY`
    case destroy = 5
    /// `KCM_OP_STORE`
    case store = 6
    /// `KCM_OP_RETRIEVE`, sent by libkrb5 since 1.20
    case retrieve = 7
    /// `KCM_OP_GET_PRINCIPAL`
    case principal = 8
    /// `KCM_OP_GET_CRED_UUID_LIST`
    case credentialIdentifiers = 9
    /// `KCM_OP_GET_CRED_BY_UUID`
    case credential = 10
    /// `KCM_OP_REMOVE_CRED`
    case remove = 11
    /// `KCM_OP_SET_FLAGS`, sent only by Heimdal
    case setFlags = 12
    /// `KCM_OP_MOVE_CACHE`, sent only by Heimdal
    case move = 17
    /// `KCM_OP_GET_CACHE_UUID_LIST`
    case cacheIdentifiers = 18
    /// `KCM_OP_GET_CACHE_BY_UUID`
    case cacheName = 19
    /// `KCM_OP_GET_DEFAULT_CACHE`
    case defaultCache = 20
    /// `KCM_OP_SET_DEFAULT_CACHE`
    case setDefaultCache = 21
    /// `KCM_OP_GET_KDC_OFFSET`
    case clockOffset = 22
    /// `KCM_OP_SET_KDC_OFFSET`
    case setClockOffset = 23
    /// `KCM_OP_GET_CRED_LIST`, sent by MIT libkrb5 since 1.20
    case credentialList = 13001
    /// `KCM_OP_REPLACE`, sent by MIT libkrb5 since 1.20
    case replace = 13002
}
