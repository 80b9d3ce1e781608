/// An entry among the ticket files that is no file of a cache, or none that can be read, and what became of it.
package struct DamagedEntry: Hashable, Sendable, CustomStringConvertible {
    /// Where it was.
    package let path: String
    /// What is wrong with it.
    package let reason: String
    /// The name that it has now, in the same folder; nil where it could not be renamed.
    package let newName: String?

    package var description: String {
        let end = newName.map { "It is now \($0), and the other tickets are served." } ?? "It is ignored; remove it."
        return "\(path): \(reason). \(end)"
    }
}
