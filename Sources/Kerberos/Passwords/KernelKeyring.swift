internal import CKerberos

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Stores secrets in the user keyring of the kernel (user-keyring(7)): in kernel memory only, readable by this user only, until the machine
/// stops or the user's last process exits. No call blocks.
package enum KernelKeyring {
    /// The maximum size of a secret, in bytes.
    private static let limit = 4096

    /// Reads a secret; nil if there is none with this description.
    ///
    /// - Throws: `KerberosError`, `secretStoreUnusable`, if the kernel has no keyrings or does not allow them here.
    package static func secret(named description: String) throws(KerberosError) -> Secret? {
        guard let key = try find(description) else { return nil }
        var bytes = [UInt8](repeating: 0, count: limit)
        defer { wipe(&bytes) }
        let count = bytes.withUnsafeMutableBytes { ckerberos_read_key(key, $0.baseAddress, $0.count) }
        guard count >= 0 else {
            if isGone(errno) { return nil }
            throw failure(description)
        }
        guard count <= limit else { throw unusable(description, "the stored secret is too long.") }
        return Secret(bytes: bytes[..<count])
    }

    /// Stores a secret in place of the previous one. Only this user can read it, from the first moment.
    ///
    /// - Throws: `KerberosError`, `secretStoreUnusable`.
    package static func store(_ secret: Secret, named description: String) throws(KerberosError) {
        guard secret.count <= limit else { throw unusable(description, "the secret is too long to store.") }
        // Only the possessor of a key may set its permissions. A process may lack its user's keyring, but always possesses its thread's.
        let key = secret.withUnsafeBytes { ckerberos_add_key(description, $0.baseAddress, $0.count, ckerberos_thread_keyring) }
        guard key >= 0 else { throw failure(description) }
        let isKept = ckerberos_close_key(key) >= 0 && ckerberos_link_key(key, ckerberos_user_keyring) >= 0
        let error = isKept ? nil : failure(description)
        _ = ckerberos_unlink_key(key, ckerberos_thread_keyring)
        if let error { throw error }
    }

    /// Removes a secret. A concurrent reader gets the secret or nothing.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: `KerberosError`, `secretStoreUnusable`.
    @discardableResult
    package static func remove(_ description: String) throws(KerberosError) -> Bool {
        guard let key = try find(description) else { return false }
        _ = ckerberos_revoke_key(key)
        guard ckerberos_unlink_key(key, ckerberos_user_keyring) >= 0 || isGone(errno) || errno == ENOENT else { throw failure(description) }
        return true
    }

    private static func find(_ description: String) throws(KerberosError) -> Int? {
        let key = ckerberos_find_key(description)
        guard key < 0 else { return key }
        if isGone(errno) { return nil }
        throw failure(description)
    }

    private static func wipe(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { buffer in
            guard let start = buffer.baseAddress else { return }
            #if canImport(Glibc)
                explicit_bzero(start, buffer.count)
            #else
                memset_s(start, buffer.count, 0, buffer.count)
            #endif
        }
    }

    #if os(Linux)
        private static func isGone(_ code: Int32) -> Bool { [ENOKEY, EKEYREVOKED, EKEYEXPIRED].contains(code) }
        private static let isFull = [EDQUOT]
        private static let isForbidden = [ENOSYS, EPERM, EACCES]
    #else
        private static func isGone(_ code: Int32) -> Bool { false }
        private static let isFull: [Int32] = []
        private static let isForbidden = [ENOSYS]
    #endif

    /// The error for `errno`.
    private static func failure(_ description: String) -> KerberosError {
        let code = errno
        let text = String(cString: strerror(code))
        if isForbidden.contains(code) {
            return unusable(description, "the kernel has no keyrings, or does not allow them here (\(text)).", code)
        }
        if isFull.contains(code) {
            return unusable(description, "the kernel's keyring of this user is full (\(text)). See: keyctl show @u", code)
        }
        return unusable(description, "the kernel's keyring cannot be used (\(text)).", code)
    }

    private static func unusable(_ description: String, _ message: String, _ code: Int32 = 0) -> KerberosError {
        KerberosError(.secretStoreUnusable, subject: description, message: message, libraryCode: code)
    }
}
