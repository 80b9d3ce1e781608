internal import Foundation

/// What libkrb5 calls an identity (`X509_user_identity`): `FILE:cert.pem,key.pem`, `PKCS12:me.p12`, `DIR:certs`, `PKCS11:…`, `ENV:name`.
package enum CertificateIdentity {
    private static let fileTypes = ["FILE", "PKCS12", "DIR"]

    /// The same with its files' paths from the root on: whoever uses it later may run in another folder.
    package static func absolute(_ identity: String) -> String {
        guard let (type, paths) = parts(identity) else { return identity }
        return (type.map { "\($0):" } ?? "") + paths.map { URL(filePath: $0).path }.joined(separator: ",")
    }

    /// Whether no path in it depends on the folder that the process runs in.
    package static func isAbsolute(_ identity: String) -> Bool { parts(identity)?.paths.allSatisfy { $0.utf8.first == slash } ?? true }

    /// Whether it names files from the root on, or a card by libkrb5's own module. `PKCS11:any.so` has libkrb5 run that file, `ENV:name`
    /// any of these: neither is for somebody else to say.
    static func isHarmless(_ identity: String) -> Bool {
        // Where C ends a string, another one ends than was looked at.
        guard !identity.utf8.contains(0) else { return false }
        if let (_, paths) = parts(identity) { return !paths.isEmpty && isAbsolute(identity) }
        let words = identity.utf8.split(separator: colon, omittingEmptySubsequences: false).map { String(Substring($0)) }
        guard words.first == "PKCS11", identity.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else { return false }
        let options = ["slotid=", "token=", "certid=", "certlabel="]
        return words.dropFirst() == [""] || words.dropFirst().allSatisfy { word in options.contains { word.hasPrefix($0) } }
    }

    // libkrb5 goes by bytes. To Swift a colon behind some characters, such as U+0600, is no colon.
    private static let colon = UInt8(ascii: ":")
    private static let slash = UInt8(ascii: "/")
    private static let comma = UInt8(ascii: ",")

    /// Nil where it names no files. Without a type it is a file's.
    private static func parts(_ identity: String) -> (type: String?, paths: [String])? {
        let bytes = identity.utf8
        let type = bytes.prefix { $0 != colon && $0 != slash && $0 != comma }
        let hasType = bytes.dropFirst(type.count).first == colon
        let name = hasType ? String(Substring(type)) : nil
        guard name.map(fileTypes.contains) ?? true else { return nil }
        let rest = hasType ? bytes.dropFirst(type.count + 1) : bytes[...]
        // Of a certificate and its key, which may be left out; any other path is one, whatever is in its name (krb5.conf(5), "PKINIT
        // options").
        let isPair = name == nil || name == "FILE"
        let paths = isPair ? rest.split(separator: comma) : rest.isEmpty ? [] : [rest]
        return (name, paths.map { String(Substring($0)) })
    }
}
