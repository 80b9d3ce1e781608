/// A whole request that cannot be carried out.
package enum RequestError: Error, Hashable, Sendable {
    /// Another version of the protocol: nothing is known of how it is answered.
    case unsupportedVersion(UInt8)
    /// No operation that is known here.
    case unknownOperation(UInt16)
    /// The operation is known, and its body is cut off.
    case malformedBody(Operation, MalformedInput)

    /// What to answer; nil where the connection is to be closed.
    ///
    /// An unknown operation must be answered, for the client tries what it can do without. A malformed body gets a code that ends the
    /// operation; its frame was whole, so the connection goes on.
    package var replyCode: ReplyCode? {
        switch self {
        case .unsupportedVersion: nil
        case .unknownOperation: .unsupported
        case .malformedBody: .malformed
        }
    }
}

extension RequestError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unsupportedVersion(let major): "Version \(major) of the protocol is not known"
        case .unknownOperation(let number): "Operation \(number) is not known"
        case .malformedBody(let operation, let error): "The body of \(operation) is malformed: \(error)"
        }
    }
}
