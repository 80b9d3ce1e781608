internal import Foundation
package import KCM
package import Kerberos
package import KerberosTesting
internal import Synchronization
internal import SystemSupport
internal import Testing

/// A server of KCM caches that counts how often they are read, and that can stop answering, like one that is suspended: from then on it
/// accepts connections and requests only.
package final class CacheServerRelay: Sendable {
    private struct State {
        /// The request from which on none is answered.
        var last: KCM.Operation?
        var isSilent = false
        var isAccepting = true
        var isClosed = false
        var connections: Set<Int32> = []
        /// How often the tickets of each cache were listed, by the cache's name.
        var readings: [String: Int] = [:]
    }

    package let path: String
    private let serverPath: String
    private let listener: Int32
    private let state = Mutex(State())

    /// Runs a closure with a relay in front of a server of its own.
    package static func run<R>(_ body: (CacheServerRelay) async throws -> R) async throws -> R {
        // The path of a socket must be short.
        let folder = "/tmp/relay-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let server = try KCMServer(KCMServer.Options { _ in true })
        let result: Result<R, any Error>
        do {
            try await server.serve(try ListeningSocket.bind(path: "\(folder)/server"))
            let relay = try CacheServerRelay(folder)
            defer { relay.close() }
            result = .success(try await body(relay))
        } catch {
            result = .failure(error)
        }
        await server.shutDown()
        return try result.get()
    }

    private init(_ folder: String) throws {
        (path, serverPath) = ("\(folder)/relay", "\(folder)/server")
        listener = try Self.socket(path) { bind($0, $1, $2) }
        try #require(listen(listener, 16) == 0)
        Thread.detachNewThread { [self] in acceptConnections() }
    }

    /// Stops answering when a request with this operation arrives.
    package func stopAnswering(at operation: KCM.Operation) { state.withLock { $0.last = operation } }

    /// Whether that request has arrived.
    package var isSilent: Bool { state.withLock { $0.isSilent } }

    /// How often the tickets of a cache were listed.
    package func readings(of cache: CredentialCacheName) -> Int { state.withLock { $0.readings[cache.residual] ?? 0 } }

    /// A client of the realm that uses the relay for its KCM caches.
    package func client(_ realm: TestRealm, armor: CredentialCacheName? = nil) -> KerberosClient {
        var configuration = realm.configuration(defaultCacheName: "KCM:")
        configuration.libdefaults["kcm_socket"] = path
        configuration.armorCache = armor
        return KerberosClient(configuration)
    }

    private func close() {
        state.withLock { state in
            state.isClosed = true
            // The thread closes the listener. If it has ended before, the number must not be used after that.
            if state.isAccepting { shutdown(listener, Int32(SHUT_RDWR)) } else { _ = Glibc.close(listener) }
            for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
        }
    }

    private static func socket(_ path: String, _ use: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32) throws -> Int32 {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let address = try #require(UnixSocketAddress(path: path))
        let result = address.lent { use(descriptor, $0, $1) }
        try #require(result == 0, "\(path), descriptor \(descriptor): \(String(cString: strerror(errno)))")
        return descriptor
    }

    private func acceptConnections() {
        while true {
            let client = accept(listener, nil, nil)
            if client < 0, errno == EINTR || errno == ECONNABORTED { continue }
            guard client >= 0 else { break }
            state.withLock { _ = $0.connections.insert(client) }
            Thread.detachNewThread { [self] in
                relay(client)
                state.withLock { state in
                    state.connections.remove(client)
                    _ = Glibc.close(client)
                }
            }
        }
        state.withLock { state in
            state.isAccepting = false
            if state.isClosed { _ = Glibc.close(listener) }
        }
    }

    /// Relays a client's requests and their replies: a length, for replies a status, and that many bytes.
    private func relay(_ client: Int32) {
        // The kernel accepts connections that were waiting when the relay was closed, and then the server may be gone.
        guard !state.withLock({ $0.isClosed }), let server = try? Self.socket(serverPath, { connect($0, $1, $2) }) else { return }
        defer { _ = Glibc.close(server) }
        while let length = read(4, from: client), let request = read(Self.number(length), from: client) {
            guard isAnswered(request) else {
                _ = read(1, from: client)
                return
            }
            send(length + request, to: server)
            guard let head = read(8, from: server), let reply = read(Self.number(head.prefix(4)), from: server) else { return }
            send(head + reply, to: client)
        }
    }

    private func isAnswered(_ request: [UInt8]) -> Bool {
        // Two bytes of the version precede the operation.
        let operation = KCM.Operation(rawValue: UInt16(truncatingIfNeeded: Self.number(request.prefix(4))))
        return state.withLock { state in
            if let last = state.last, operation == last { state.isSilent = true }
            if operation == .credentialList || operation == .credentialIdentifiers {
                state.readings[String(decoding: request.dropFirst(4).prefix { $0 != 0 }, as: UTF8.self), default: 0] += 1
            }
            return !state.isSilent
        }
    }

    private static func number(_ bytes: some Sequence<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    private func read(_ count: Int, from descriptor: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        guard count == 0 || recv(descriptor, &bytes, count, Int32(MSG_WAITALL)) == count else { return nil }
        return bytes
    }

    private func send(_ bytes: [UInt8], to descriptor: Int32) {
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
}
