extension EncryptionType {
    /// The first of the names that libkrb5 has for it, in whatever case it is written; nil where it has none. kadmin takes no notice of
    /// such.
    var canonicalName: String? {
        let name = description.lowercased()
        return Self.names.first { $0.contains(name) }?.first
    }

    /// All that krb5.conf(5) and libkrb5 have, with the other names of each.
    private static let names = [
        ["aes256-cts-hmac-sha1-96", "aes256-cts", "aes-256", "aes256-sha1"],
        ["aes128-cts-hmac-sha1-96", "aes128-cts", "aes-128", "aes128-sha1"],
        ["aes256-cts-hmac-sha384-192", "aes256-sha2"],
        ["aes128-cts-hmac-sha256-128", "aes128-sha2"],
        ["camellia256-cts-cmac", "camellia256-cts"],
        ["camellia128-cts-cmac", "camellia128-cts"],
        ["arcfour-hmac", "rc4-hmac", "arcfour-hmac-md5"],
        ["arcfour-hmac-exp", "rc4-hmac-exp", "arcfour-hmac-md5-exp"],
        ["des3-cbc-sha1", "des3-hmac-sha1", "des3-cbc-sha1-kd"],
        ["des3-cbc-raw"],
    ]
}
