/// Why a connection cannot go on: where its next request begins is not known any more.
package enum FrameError: Error, Hashable, Sendable {
    /// A request shorter than its version and operation.
    case tooShort(Int)
    /// A length above the limit, followed by a version that is not of this protocol.
    case tooLong(Int)
}

extension FrameError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooShort(let length): "A request of \(length) bytes has no room for version and operation"
        case .tooLong(let length): "\(length) bytes are no length of a request of this protocol"
        }
    }
}
