internal import Foundation

/// A folder for one user's secrets: it is used only while it belongs to the user and is closed to everybody else.
package struct PrivateDirectory: Sendable {
    /// Where it is.
    package let path: String

    /// A folder by its path; nothing is made yet.
    package init(path: String) { self.path = path }

    /// Whether it is there, no link, the user's own, and closed to others.
    package var isTrusted: Bool {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            attributes[.type] as? FileAttributeType == .typeDirectory,
            let owner = attributes[.ownerAccountID] as? NSNumber, owner.uint32Value == geteuid(),
            let mode = attributes[.posixPermissions] as? NSNumber
        else { return false }
        return mode.uint16Value & 0o077 == 0
    }

    /// Makes it, with mode 0700, where it is not there; false when it is there and can't be trusted.
    package func make() -> Bool {
        if !isTrusted {
            try? FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700]
            )
        }
        return isTrusted
    }
}
