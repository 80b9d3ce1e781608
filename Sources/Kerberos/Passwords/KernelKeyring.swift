internal import CKerberos

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Secrets in the user's keyring of the kernel (user-keyring(7)): in its memory alone, for this user alone, until it forgets them: when the
/// machine stops, or the user's last process ends. No call waits for anything.
package enum KernelKeyring {
    /// The most that is read, in bytes.
    private static let limit = 4096

    /// The secret with a description; nil where there is none.
    ///
    /// - Throws: `KerberosError`, `secretStoreUnusable`, where the kernel has no keyrings or allows none here.
    package static func secret(named description: String) throws(KerberosError) -> Secret? {
        guard let key = try find(description) else { return nil }
        var bytes = [UInt8](repeating: 0, count: limit)
        defer { wipe(&bytes) }
        let count = bytes.withUnsafeMutableBytes { ckerberos_read_key(key, $0.baseAddress, $0.count) }
        guard count >= 0 else {
            if isGone(errno) { return nil }
            throw failure(description)
        }
        guard count <= limit else { throw unusable(description, "what is kept there is too long.") }
        return Secret(bytes: bytes[..<count])
    }

    /// Keeps a secret in the place of the one before. Nobody but this user may read it, from the first moment on.
    ///
    /// - Throws: `KerberosError`, `secretStoreUnusable`.
    package static func store(_ secret: Secret, named description: String) throws(KerberosError) {
        guard secret.count <= limit else { throw unusable(description, "what is to be kept is too long.") }
        // A process need not possess its user's keyring, and only who possesses a new key may say who else reads it. Its thread's it does.
        let key = secret.withUnsafeBytes { ckerberos_add_key(description, $0.baseAddress, $0.count, ckerberos_thread_keyring) }
        guard key >= 0 else { throw failure(description) }
        let isKept = ckerberos_close_key(key) >= 0 && ckerberos_link_key(key, ckerberos_user_keyring) >= 0
        let error = isKept ? nil : failure(description)
        _ = ckerberos_unlink_key(key, ckerberos_thread_keyring)
        if let error { throw error }
    }

    /// Removes a secret; whoever reads it at the same time gets it or nothing.
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

    /// What `errno` says.
    private static func failure(_ description: String) -> KerberosError {
        let code = errno
        let text = String(cString: strerror(code))
        if isForbidden.contains(code) {
            return unusable(description, "the kernel has no keyrings, or allows none here (\(text)).", code)
        }
        if isFull.contains(code) {
            return unusable(description, "the kernel's keyring of this user is full (\(text)). See: keyctl show @u", code)
        }
        return unusable(description, "the kernel's keyring can't be used (\(text)).", code)
    }

    private static func unusable(_ description: String, _ message: String, _ code: Int32 = 0) -> KerberosError {
        KerberosError(.secretStoreUnusable, subject: description, message: message, libraryCode: code)
    }
}
