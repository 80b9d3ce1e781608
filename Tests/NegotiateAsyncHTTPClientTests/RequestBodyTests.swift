import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import NegotiateAsyncHTTPClient
import Synchronization
import TestSupport
import Testing

@Suite struct RequestBodyTests {
    @Test func aBodyInMemoryIsSentAgain() async throws {
        try await withServer(extension: ScriptedExtension(), script: ScriptedServer.protected) { server, client in
            var request = server.request()
            request.method = .POST
            request.body = .bytes(ByteBuffer(string: "name=alice"))
            let status = try await client.execute(request).status
            #expect(status == .ok)
            #expect(server.requests.map(\.method) == ["POST", "POST"])
            #expect(server.requests.map(\.body) == ["name=alice", "name=alice"])
        }
    }

    @Test func aBodyInOnePieceIsSentAgainWhateverItsSize() async throws {
        let configuration = loopback { $0.maximumReplayableBody = 10 }
        try await withServer(extension: ScriptedExtension(), configuration: configuration, script: ScriptedServer.protected) {
            server,
            client in
            var request = server.request()
            request.method = .PUT
            request.body = .bytes(Array(repeating: UInt8(ascii: "x"), count: 1000))
            let status = try await client.execute(request).status
            #expect(status == .ok)
            #expect(server.requests.map(\.body.count) == [1000, 1000])
        }
    }

    @Test func aShortStreamIsReadFirstAndSentAgain() async throws {
        try await withServer(extension: ScriptedExtension(), script: ScriptedServer.protected) { server, client in
            var request = server.request()
            request.method = .POST
            request.body = .stream(OnceOnly(["one ", "two ", "three"]), length: .unknown)
            let status = try await client.execute(request).status
            #expect(status == .ok)
            #expect(server.requests.map(\.body) == ["one two three", "one two three"])
        }
    }

    @Test func aLongStreamIsRefusedBeforeAnythingIsSent() async throws {
        let configuration = loopback { $0.maximumReplayableBody = 10 }
        try await withServer(extension: ScriptedExtension(), configuration: configuration, script: ScriptedServer.protected) {
            server,
            client in
            var request = server.request()
            request.method = .POST
            request.body = .stream(OnceOnly(["one ", "two ", "three"]), length: .unknown)
            let error = await #expect(throws: AuthorizationError.self) { try await client.execute(request) }
            #expect(error?.code == .bodyNotReplayable)
            #expect(server.requests.isEmpty)
        }
    }

    @Test func aStreamToAHostThatIsNotCoveredIsSentAsItIs() async throws {
        let configuration = loopback { $0.maximumReplayableBody = 10 }
        let script: ScriptedServer.Script = { _ in .challenge }
        try await withServer(extension: ScriptedExtension(), configuration: configuration, script: script) { server, client in
            var request = server.request("elsewhere.test")
            request.method = .POST
            request.body = .stream(OnceOnly(["one ", "two ", "three"]), length: .known(Int64(13)))
            let status = try await client.execute(request).status
            #expect(status == .unauthorized)
            #expect(server.requests.map(\.body) == ["one two three"])
            #expect(server.requests.map { $0.field("Content-Length") } == ["13"])
        }
    }

    @Test func aClosureMakesTheBodyEachTime() async throws {
        let configuration = loopback { $0.maximumReplayableBody = 1 }
        let count = Counter()
        try await withServer(extension: ScriptedExtension(), configuration: configuration, script: ScriptedServer.protected) {
            server,
            client in
            var request = server.request()
            request.method = .PUT
            let status = try await client.execute(request) {
                .stream(OnceOnly(["a", "b", "\(count.next())"]), length: .known(Int64(3)))
            }.status
            #expect(status == .ok)
            #expect(server.requests.map(\.body) == ["ab1", "ab2"])
        }
    }

    @Test func aBodyThatFailsIsNotSent() async throws {
        struct Broken: Error {}
        try await withServer(extension: ScriptedExtension(), script: ScriptedServer.protected) { server, client in
            await #expect(throws: Broken.self) { try await client.execute(server.request()) { throw Broken() } }
            #expect(server.requests.isEmpty)
        }
    }
}

/// A stream that can be read a single time, and ends at once when it is read again.
struct OnceOnly: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    final class Iterator: AsyncIteratorProtocol {
        private let pieces: Pieces

        init(_ pieces: Pieces) { self.pieces = pieces }

        func next() async -> ByteBuffer? { pieces.next() }
    }

    final class Pieces: Sendable {
        private let rest: Mutex<ArraySlice<String>>

        init(_ pieces: [String]) { rest = Mutex(pieces[...]) }

        func next() -> ByteBuffer? { rest.withLock { $0.popFirst().map { ByteBuffer(string: $0) } } }
    }

    private let pieces: Pieces

    init(_ pieces: [String]) { self.pieces = Pieces(pieces) }

    func makeAsyncIterator() -> Iterator { Iterator(pieces) }
}

/// Counts from 1, for any task.
final class Counter: Sendable {
    private let value = Mutex(0)

    func next() -> Int {
        value.withLock { value in
            value += 1
            return value
        }
    }
}
