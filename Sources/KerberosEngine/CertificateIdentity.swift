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
    package static func isAbsolute(_ identity: String) -> Bool { parts(identity)?.paths.allSatisfy { $0.hasPrefix("/") } ?? true }

    /// Whether it names files from the root on, or a card by libkrb5's own module. `PKCS11:any.so` has libkrb5 run that file, `ENV:name` any of
    /// these: neither is for somebody else to say.
    static func isHarmless(_ identity: String) -> Bool {
        if let (_, paths) = parts(identity) { return !paths.isEmpty && isAbsolute(identity) }
        let words = identity.split(separator: ":", omittingEmptySubsequences: false)
        guard words.first == "PKCS11" else { return false }
        let options = ["slotid=", "token=", "certid=", "certlabel="]
        return words.dropFirst() == [""] || words.dropFirst().allSatisfy { word in options.contains { word.hasPrefix($0) } }
    }

    /// Nil where it names no files. Without a type it is a file's.
    private static func parts(_ identity: String) -> (type: String?, paths: [String])? {
        let type = identity.prefix { $0 != ":" && $0 != "/" && $0 != "," }
        let hasType = identity.dropFirst(type.count).first == ":"
        guard !hasType || fileTypes.contains(String(type)) else { return nil }
        let rest = hasType ? identity.dropFirst(type.count + 1) : identity[...]
        // Of a certificate and its key, which may be left out; any other path is one, whatever is in its name (krb5.conf(5), "PKINIT options").
        let isPair = !hasType || type == "FILE"
        return (hasType ? String(type) : nil, isPair ? rest.split(separator: ",").map(String.init) : rest.isEmpty ? [] : [String(rest)])
    }
}
