public import Foundation
public import Kerberos
public import KerberosEngine

/// Reads passwords that systemd delivers to a service (`LoadCredential=ksso.PRINCIPAL:file`, systemd.exec(5)), as files that only the
/// service can read.
///
/// Stores none itself. After the KDC refuses a password or its principal signs out, the file is ignored until systemd delivers another one,
/// that is, until the service is restarted. If the kernel has no keyring to record this, a refused password is ignored until the process
/// exits, and a sign-out throws `secretStoreUnusable`: the tickets are destroyed, but the next request signs in again.
public struct CredentialsDirectoryStore: SecretStore {
    private let directory: String

    /// The maximum size of a password, in bytes.
    private static let limit = 4096

    /// Creates a store for the directory in `$CREDENTIALS_DIRECTORY`; nil if the variable is not set.
    public init?(environment: [String: String] = ProcessInfo.processInfo.environment) {
        guard let directory = environment["CREDENTIALS_DIRECTORY"], directory.hasPrefix("/") else { return nil }
        self.directory = directory
    }

    /// `systemd's credentials`.
    public var name: String { "systemd's credentials" }

    /// The contents of the file, without a final newline.
    ///
    /// - Throws: `KerberosError`, `secretStoreUnusable`, if the file can be accessed by others or cannot be read.
    public func secret(for principal: Principal) async throws(KerberosError) -> Secret? {
        guard let file = try open(principal) else { return nil }
        defer { close(file.descriptor) }
        guard (try? KernelKeyring.secret(named: file.note)) != file.identity else { return nil }
        var bytes = [UInt8](repeating: 0, count: Self.limit + 1)
        defer { unsafe bytes.withUnsafeMutableBytes { if let start = $0.baseAddress { unsafe explicit_bzero(start, $0.count) } } }
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(file.descriptor, $0.baseAddress, $0.count) }
        guard count >= 0, count <= Self.limit else { throw unusable(file.path, "the file cannot be read, or is too long.") }
        var content = bytes[..<count]
        if content.last == UInt8(ascii: "\n") { content = content.dropLast() }
        if content.last == UInt8(ascii: "\r") { content = content.dropLast() }
        return content.isEmpty ? nil : Secret(bytes: content)
    }

    /// Always throws, because only systemd delivers these passwords.
    @discardableResult
    public func store(_ secret: Secret, for principal: Principal) async throws(KerberosError) -> String {
        throw unusable(directory, "only systemd can store credentials there. Put the password in the file that LoadCredential= specifies.")
    }

    /// Makes this store ignore the present file.
    ///
    /// - Throws: `KerberosError`, `secretStoreUnusable`, if the kernel cannot record that.
    @discardableResult
    public func remove(_ principal: Principal) async throws(KerberosError) -> Bool {
        guard let file = try open(principal) else { return false }
        defer { close(file.descriptor) }
        guard (try? KernelKeyring.secret(named: file.note)) != file.identity else { return false }
        do throws(KerberosError) {
            try KernelKeyring.store(file.identity, named: file.note)
        } catch {
            throw unusable(file.path, "the file belongs to systemd, and ksso cannot record that it is to be ignored: \(error.message)")
        }
        return true
    }

    private struct OpenFile {
        let path: String
        let descriptor: Int32
        /// Distinguishes the file from the next one that systemd delivers. Contains nothing of its contents.
        let identity: Secret

        var note: String { "ksso-passed-over:\(path)" }
    }

    private func open(_ principal: Principal) throws(KerberosError) -> OpenFile? {
        // A credential's name cannot contain a slash.
        guard !principal.description.contains("/") else { return nil }
        let path = "\(directory)/ksso.\(principal)"
        let descriptor = unsafe Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw unusable(path, "the file cannot be read (\(unsafe String(cString: strerror(errno)))).")
        }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, [0, geteuid()].contains(status.st_uid),
            status.st_mode & 0o027 == 0
        else {
            close(descriptor)
            throw unusable(path, "other users can read or change the file, or it is not owned by this user or root, so it is ignored.")
        }
        let identity = "\(status.st_dev) \(status.st_ino) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
        return OpenFile(path: path, descriptor: descriptor, identity: Secret(identity))
    }

    private func unusable(_ subject: String, _ message: String) -> KerberosError {
        KerberosError(.secretStoreUnusable, subject: subject, message: message)
    }
}
