internal import NIOCore
internal import Synchronization

/// The whole body of a request, held until the operation takes it: nobody else has it then, so that a secret in it can be wiped.
final class AgentRequestBody: Sendable {
    private let bytes = Mutex(ByteBuffer())

    func put(_ body: ByteBuffer) { bytes.withLock { $0 = body } }

    /// The body; after that there is none.
    func take() -> ByteBuffer {
        bytes.withLock { bytes in
            defer { bytes = ByteBuffer() }
            return bytes
        }
    }
}
