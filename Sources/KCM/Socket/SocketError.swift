/// Why a Unix socket can't be listened on.
package struct SocketError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it was.
    package enum Code: Hashable, Sendable {
        /// The path is longer than a socket's address.
        case pathTooLong
        /// Another process listens there.
        case inUse
        /// What stands at the path is no socket.
        case notASocket
        /// A descriptor that was handed over is no Unix socket that listens.
        case unusableDescriptor
        /// The system refused.
        case system(Int32)
    }

    /// What kind of failure it was.
    package let code: Code
    /// A sentence that says what failed and what to do.
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
