import Foundation
import TestSupport
import Testing

@testable import KCM

/// Which copies of a ticket stay in the server's memory.
@Suite(.timeLimit(.minutes(15))) struct SecretTests {
    @Test(
        .exitTest,
        .skipped(under: .address, because: "the address sanitizer keeps freed memory unchanged to detect use after free"),
        .skipped(under: .thread, because: "a search of the memory that the thread sanitizer maps does not end")
    )
    func `no copy of a replaced, removed or destroyed ticket stays in memory`() async throws {
        try await withFolder { folder in
            await #expect(processExitsWith: .success) { [folder = folder as String] in
                let path = "\(folder)/kcm.sock"
                let server = try KCMServer(KCMServer.Options.forEveryone(directory: "\(folder)/caches", now: { 1500 }))
                try await server.serve(try ListeningSocket.bind(path: path))
                // The exit test is a process of its own, so the client may block in a call.
                let client = SecretiveClient(path)
                try client.send(requestBytes(.initialize, "a", Sample.alice))
                try client.sendSecret(.store, Sample.ticket(1))
                try client.require(client.copiesOfSecret() > 0, "the store has no copy")
                for operation in [(.retrieve, Sample.ticket(1).patternBytes()), (.credentialList, [])] as [(KCM.Operation, [UInt8])] {
                    try client.send(requestBytes(operation.0, "a", operation.1))
                    let copies = try client.copiesOfSecret()
                    try client.require(copies == 1, "\(operation.0) left \(copies) copies")
                }
                // Replaces the stored ticket.
                try client.sendSecret(.store, Sample.ticket(1))
                try client.require(client.copiesOfSecret() == 1, "a copy of the replaced ticket is left")
                try client.send(requestBytes(.move, "a", CacheName("b").terminated))
                try client.require(client.copiesOfSecret() == 1, "writing a file left a copy")
                try client.send(requestBytes(.remove, "b", Sample.ticket(1).patternBytes()))
                try client.require(client.copiesOfSecret() == 0, "a copy of the removed ticket is left")
                try client.sendSecret(.store, Sample.ticket(2), in: "b")
                try client.send(requestBytes(.destroy, "b"))
                try client.require(client.copiesOfSecret() == 0, "a copy of the destroyed cache's ticket is left")
                withExtendedLifetime(server) {}
                endChildProcess()
            }
        }
    }
}

/// A client in the server's process that itself leaves no copy of the secret.
private final class SecretiveClient {
    private let descriptor: Int32
    /// Random bytes: the only copy outside the server, which ``copiesOfSecret()`` does not count.
    private let secret = UnsafeMutablePointer<UInt8>.allocate(capacity: SecretiveClient.length)
    private static let length = 64

    struct Failure: Error {
        let problem: String
    }

    init(_ path: String) {
        for index in 0..<Self.length { (secret + index).initialize(to: UInt8.random(in: 1...255)) }
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let connected = withUnsafeBytes(of: &address) { bytes in
            connect(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        precondition(connected == 0)
    }

    /// Sends a request and requires that it succeeds.
    func send(_ frame: [UInt8]) throws {
        var frame = frame
        precondition(write(descriptor, frame, frame.count) == frame.count)
        frame.wipe()
        let reply = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
        let count = read(descriptor, reply.baseAddress, reply.count)
        let code = reply[8..<12].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        reply.initializeMemory(as: UInt8.self, repeating: 0)
        reply.deallocate()
        try require(count >= 12 && code == 0, "a request failed")
    }

    func sendSecret(_ operation: KCM.Operation, _ fields: Fields, in name: String = "a") throws {
        let marked = fields.with { $0.ticket = [UInt8](repeating: 0xEE, count: Self.length) }
        var frame = requestBytes(operation, name, marked.bytes)
        guard let start = frame.indices.first(where: { frame[$0...].starts(with: marked.ticket) }) else {
            throw Failure(problem: "the request has no place for the secret")
        }
        for index in 0..<Self.length { frame[start + index] = secret[index] }
        precondition(write(descriptor, frame, frame.count) == frame.count)
        frame.wipe()
        var reply = [UInt8](repeating: 0, count: 12)
        try require(read(descriptor, &reply, 12) == 12 && reply[8...].allSatisfy { $0 == 0 }, "a ticket was not stored")
    }

    /// The number of copies of the secret in this process's writable memory.
    func copiesOfSecret() throws -> Int {
        // When the server answers this request, it is done with the previous one.
        try send(requestBytes(.noOperation))
        let maps = try #require(String.contents(ofMaps: "/proc/self/maps"))
        var count = 0
        for line in maps.split(separator: "\n") where line.contains(" rw-p ") && !line.contains("[vvar") {
            let ends = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
            var place = UnsafeRawPointer(bitPattern: ends[0])
            let end = try #require(UnsafeRawPointer(bitPattern: ends[1]))
            while let start = place, start < end, let found = memchr(start, Int32(secret[0]), end - start) {
                if found + Self.length <= end, found != UnsafeMutableRawPointer(secret),
                    memcmp(found, secret, Self.length) == 0
                {
                    count += 1
                }
                place = UnsafeRawPointer(found) + 1
            }
        }
        return count
    }

    func require(_ isTrue: Bool, _ problem: String) throws {
        try #require(isTrue, "\(problem)")
    }
}

extension String {
    /// Reads a file of `/proc` to its end.
    fileprivate static func contents(ofMaps path: String) -> String? {
        guard let handle = FileHandle(forReadingAtPath: path), let data = try? handle.readToEnd() else { return nil }
        return String(decoding: data, as: UTF8.self)
    }
}
