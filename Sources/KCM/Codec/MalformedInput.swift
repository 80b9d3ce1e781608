/// Bytes that are not what they should be: too short, or with a length beyond their end.
package struct MalformedInput: Error, Hashable, Sendable {
    /// What was being read.
    package let field: String
    /// Where in the bytes the field begins.
    package let offset: Int
}

extension MalformedInput: CustomStringConvertible {
    package var description: String { "\(field) at byte \(offset) goes beyond the end" }
}
