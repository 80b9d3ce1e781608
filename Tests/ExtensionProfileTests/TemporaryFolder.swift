import Foundation
import Testing

/// A temporary directory that is removed when this object is released.
final class TemporaryFolder {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "profiles-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file with the given mode, regardless of the umask, and returns its path.
    @discardableResult
    func write(_ text: String, to name: String, mode: Int = 0o644) throws -> String {
        let file = "\(path)/\(name)"
        try text.write(toFile: file, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        return file
    }

    /// Creates a subdirectory with the given mode and returns its path.
    func folder(_ name: String, mode: Int = 0o755) throws -> String {
        let folder = "\(path)/\(name)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder)
        return folder
    }

    func setMode(_ mode: Int) throws { try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path) }
}

/// The text of a usable profile.
func profileText(realm: String, hosts: String, isDefaultRealm: Bool = false) -> String {
    """
    ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension
    TeamIdentifier: apple
    Type: Credential
    Realm: \(realm)
    Hosts: [\(hosts)]
    ExtensionData: {isDefaultRealm: \(isDefaultRealm)}
    """
}
