/// The key of our own that says where the certificate is which a user signs in with.
enum CertificateIdentityKey {
    static let name = "CertificateIdentity"
}

extension KeyChecker {
    /// The forms of libkrb5's `X509_user_identity`; a path alone would be taken for a file, and is not what libkrb5 documents.
    static func certificateIdentityFault(_ text: String) -> KeyVerdict? {
        let types = ["FILE:", "DIR:", "PKCS12:", "PKCS11:", "ENV:"]
        // PKCS11 by itself is the plugin's own choice of a module.
        guard text != "PKCS11:", !types.contains(where: { text.hasPrefix($0) && text.count > $0.count }) else { return nil }
        return .badValue(
            reason: "found \(text.debugDescription), expected a certificate as libkrb5 names it, such as FILE:/etc/cert.pem,/etc/key.pem, "
                + "PKCS12:/etc/me.p12 or PKCS11:"
        )
    }
}

/// The key of our own that says which ticket protects sign-ins.
enum ArmorCacheKey {
    static let name = "ArmorCache"
}

extension KeyChecker {
    /// A cache with its type: a path alone would depend on the folder in which a program was started.
    static func armorCacheFault(_ text: String) -> KeyVerdict? {
        let types = ["FILE:/", "DIR:/", "DIR::/", "KCM:", "KEYRING:"]
        guard !types.contains(where: text.hasPrefix) else { return nil }
        return .badValue(
            reason: "found \(text.debugDescription), expected a credential cache with its type, such as FILE:/run/machine-ticket or KCM:"
        )
    }
}
