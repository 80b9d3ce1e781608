package import NIOCore
internal import Synchronization

/// A stream that can be read only once; a second iteration ends at once.
package struct OnceOnly: AsyncSequence, Sendable {
    package typealias Element = ByteBuffer

    package final class Iterator: AsyncIteratorProtocol {
        private let pieces: Pieces

        fileprivate init(_ pieces: Pieces) { self.pieces = pieces }

        package func next() async -> ByteBuffer? { pieces.next() }
    }

    fileprivate final class Pieces: Sendable {
        private let rest: Mutex<ArraySlice<String>>

        init(_ pieces: [String]) { rest = Mutex(pieces[...]) }

        func next() -> ByteBuffer? { rest.withLock { $0.popFirst().map { ByteBuffer(string: $0) } } }
    }

    private let pieces: Pieces

    package init(_ pieces: [String]) { self.pieces = Pieces(pieces) }

    package func makeAsyncIterator() -> Iterator { Iterator(pieces) }
}
