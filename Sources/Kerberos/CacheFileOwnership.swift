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
        guard let path = name.path, let fault = fault(of: path, type: S_IFREG) else { return }
        throw KerberosError(
            .cacheUnusable,
            subject: name.rawValue,
            message: "this credential cache is not used: \(fault). Remove the file, or set KRB5CCNAME to another cache."
        )
    }

    /// The same for a cache whose ticket protects sign-ins: the machine's may be root's. Of a collection the folder is looked at.
    static func checkArmor(_ name: CredentialCacheName) throws(KerberosError) {
        let isFolder = name.type == "DIR" && name.isCollection
        guard let path = isFolder ? name.residual : name.path,
            let fault = fault(of: path, type: isFolder ? S_IFDIR : S_IFREG, mayBeRoots: true)
        else { return }
        throw KerberosError(
            .armorUnusable,
            subject: name.rawValue,
            message: "the ticket that protects the sign-in is not used: \(fault). Have \(path) belong to root or to the user, "
                + "and let nobody else write to it: chmod go-w \(path)"
        )
    }

    /// What keeps a file from being used; nil where nothing does, or nothing is there.
    private static func fault(of path: String, type: mode_t, mayBeRoots: Bool = false) -> String? {
        var information = stat()
        guard stat(path, &information) == 0 else { return nil }
        if information.st_mode & S_IFMT != type { return type == S_IFDIR ? "it is no folder" : "it is no plain file" }
        if information.st_uid != geteuid(), !mayBeRoots || information.st_uid != 0 {
            return "it belongs to the user with uid \(information.st_uid)"
        }
        return information.st_mode & 0o022 == 0 ? nil : "others can write to it"
    }
}
