/// Why a connection cannot go on: where its next request begins is not known any more.
package enum FrameError: Error, Hashable, Sendable {
    /// A request shorter than its version and operation.
    case tooShort(Int)
    /// A request above the limit.
    case tooLong(Int)
}

extension FrameError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooShort(let length): "A request of \(length) bytes has no room for version and operation"
        case .tooLong(let length): "A request of \(length) bytes is above the limit"
        }
    }
}
