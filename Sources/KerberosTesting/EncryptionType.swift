/// A kind of key (RFC 3961), by the name that krb5.conf has for it.
public struct EncryptionType: Sendable, Hashable, CustomStringConvertible {
    /// The name, such as `aes256-cts-hmac-sha1-96`.
    public let description: String

    /// An encryption type by its name in krb5.conf, of which it may be any: `aes256-cts` too. A name that libkrb5 has not is refused when a
    /// principal is added.
    public init(_ description: String) {
        self.description = description
    }

    /// AES with 256 bits and SHA-1 (RFC 3962), the kit's first choice.
    public static let aes256 = EncryptionType("aes256-cts-hmac-sha1-96")
    /// AES with 128 bits and SHA-1 (RFC 3962).
    public static let aes128 = EncryptionType("aes128-cts-hmac-sha1-96")
    /// AES with 256 bits and SHA-384 (RFC 8009).
    public static let aes256SHA384 = EncryptionType("aes256-cts-hmac-sha384-192")
    /// AES with 128 bits and SHA-256 (RFC 8009).
    public static let aes128SHA256 = EncryptionType("aes128-cts-hmac-sha256-128")
    /// Camellia with 256 bits (RFC 6803).
    public static let camellia256 = EncryptionType("camellia256-cts-cmac")
    /// Camellia with 128 bits (RFC 6803).
    public static let camellia128 = EncryptionType("camellia128-cts-cmac")
    /// RC4 (RFC 4757), as old Windows domains have it; deprecated, and refused by clients that do not allow it.
    public static let rc4 = EncryptionType("arcfour-hmac")
}
