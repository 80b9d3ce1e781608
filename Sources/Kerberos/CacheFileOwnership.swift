#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Whether a cache that is a file is the user's own.
///
/// The default cache often lies in `/tmp`, where anybody can put a file of that name first: who reads it would act as its maker.
enum CacheFileOwnership {
    /// Throws unless the file is not there, or is a plain file that belongs to the user and that nobody else can write.
    static func check(_ name: CredentialCacheName) throws(KerberosError) {
        guard let path = name.path else { return }
        var information = stat()
        guard stat(path, &information) == 0 else { return }
        guard information.st_mode & S_IFMT == S_IFREG else {
            throw refusal(name, "it is no plain file")
        }
        guard information.st_uid == geteuid() else {
            throw refusal(name, "it belongs to the user with uid \(information.st_uid)")
        }
        guard information.st_mode & 0o022 == 0 else {
            throw refusal(name, "others can write to it")
        }
    }

    private static func refusal(_ name: CredentialCacheName, _ reason: String) -> KerberosError {
        KerberosError(
            .cacheUnusable,
            subject: name.rawValue,
            message: "this credential cache is not used: \(reason). Remove the file, or set KRB5CCNAME to another cache."
        )
    }
}
