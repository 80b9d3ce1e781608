/// The key of this project that names the user's certificate.
enum CertificateIdentityKey {
    static let name = "CertificateIdentity"
}

extension KeyChecker {
    /// Checks for the forms of libkrb5's `X509_user_identity`. A path without a type is refused, although libkrb5 treats it as a file,
    /// because that is undocumented.
    static func certificateIdentityFault(_ text: String) -> KeyVerdict? {
        let types = ["FILE:", "DIR:", "PKCS12:", "PKCS11:", "ENV:"]
        // `PKCS11:` without a module uses the plugin's default module.
        guard text != "PKCS11:", !types.contains(where: { text.hasPrefix($0) && text.count > $0.count }) else { return nil }
        return .badValue(
            reason: "found \(text.debugDescription), expected a certificate as libkrb5 names it, such as FILE:/etc/cert.pem,/etc/key.pem, "
                + "PKCS12:/etc/me.p12 or PKCS11:"
        )
    }
}

/// The key of this project that names the cache with the FAST armor ticket.
enum ArmorCacheKey {
    static let name = "ArmorCache"
}

extension KeyChecker {
    /// Checks for a cache name with a type. A path without one would depend on the working directory.
    static func armorCacheFault(_ text: String) -> KeyVerdict? {
        let types = ["FILE:/", "DIR:/", "DIR::/", "KCM:", "KEYRING:"]
        guard !types.contains(where: text.hasPrefix) else { return nil }
        return .badValue(
            reason: "found \(text.debugDescription), expected a credential cache with its type, such as FILE:/run/machine-ticket or KCM:"
        )
    }
}
