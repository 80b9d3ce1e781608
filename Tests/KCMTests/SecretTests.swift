import Foundation
import TestSupport
import Testing

@testable import KCM

/// What is left in the server's memory of a ticket that is gone.
struct SecretTests {
    @Test(.skipped(under: .address, because: "the address sanitizer keeps freed memory as it was, to detect a later use"))
    func `nothing of a destroyed ticket is left in memory`() async throws {
        try await withFolder { folder in
            await #expect(processExitsWith: .success) { [folder = folder as String] in
                let path = "\(folder)/kcm.sock"
                let server = try KCMServer(KCMServer.Options.forEveryone(directory: "\(folder)/caches", now: { 1500 }))
                try await server.serve(try ListeningSocket.bind(path: path))
                // A process of its own: it may wait in a call.
                let client = SecretiveClient(path)
                try client.send(requestBytes(.initialize, "a", Sample.alice))
                try client.sendSecret(.store, Sample.ticket(1))
                try client.require(client.copiesOfSecret() > 0, "the store has none")
                for operation in [(.retrieve, Sample.ticket(1).patternBytes()), (.credentialList, [])] as [(KCM.Operation, [UInt8])] {
                    try client.send(requestBytes(operation.0, "a", operation.1))
                    let copies = try client.copiesOfSecret()
                    try client.require(copies == 1, "\(operation.0) left \(copies) copies")
                }
                // It takes the place of the other.
                try client.sendSecret(.store, Sample.ticket(1))
                try client.require(client.copiesOfSecret() == 1, "the one that was replaced is left")
                try client.send(requestBytes(.move, "a", CacheName("b").terminated))
                try client.require(client.copiesOfSecret() == 1, "writing a file left a copy")
                try client.send(requestBytes(.remove, "b", Sample.ticket(1).patternBytes()))
                try client.require(client.copiesOfSecret() == 0, "the one that was removed is left")
                try client.sendSecret(.store, Sample.ticket(2), in: "b")
                try client.send(requestBytes(.destroy, "b"))
                try client.require(client.copiesOfSecret() == 0, "the cache that was destroyed is left")
                withExtendedLifetime(server) {}
                endChildProcess()
            }
        }
    }
}

/// A client in the server's process that leaves no copy of the secret itself.
private final class SecretiveClient {
    private let descriptor: Int32
    /// Sixty-four random bytes; the only copy outside the server, and not counted.
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

    /// Sends a request and drops the reply, which has to be a good one.
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
            throw Failure(problem: "no place")
        }
        for index in 0..<Self.length { frame[start + index] = secret[index] }
        precondition(write(descriptor, frame, frame.count) == frame.count)
        frame.wipe()
        var reply = [UInt8](repeating: 0, count: 12)
        try require(read(descriptor, &reply, 12) == 12 && reply[8...].allSatisfy { $0 == 0 }, "a ticket was not stored")
    }

    /// How often the secret is in the memory of this process that can be written to.
    func copiesOfSecret() throws -> Int {
        // The server is done with the request before once it answers the next one.
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
