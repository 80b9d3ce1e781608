internal import Foundation
internal import Kerberos

/// What is wrong with the names that a sign-in is given, seen before the KDC, or anybody, is asked.
enum LoginFiles {
    /// The types of caches that hold tickets for more than one process.
    private static let cacheTypes = ["FILE", "DIR", "KEYRING", "KCM"]

    /// Refuses an armour cache of a type that libkrb5 does not know: nothing could get a ticket into it.
    static func checkArmorCache(_ name: String?) throws(CommandFailure) {
        guard let name, name.contains(":") else { return }
        let type = String(name.prefix { $0 != ":" })
        guard !cacheTypes.contains(type) else { return }
        let sentence =
            "--armor-cache \(name): there are no credential caches of the type \(type). There are \(cacheTypes.joined(separator: ", "))."
        throw CommandFailure(.usage, sentence)
    }

    /// Refuses a certificate or a key that is not there: nobody shall be asked for its PIN.
    static func checkCertificate(_ identity: String?) throws(CommandFailure) {
        guard let identity, identity != "default" else { return }
        for path in paths(of: identity) where access(path, F_OK) != 0 && [ENOENT, ENOTDIR].contains(errno) {
            throw CommandFailure(.failed, "--certificate \(identity): there is no such file: \(path)")
        }
    }

    /// The files that an identity names, which without a type is a file's (krb5.conf(5), "Specifying PKINIT identity information").
    private static func paths(of identity: String) -> [String] {
        let type = identity.prefix { $0 != ":" && $0 != "/" && $0 != "," }
        let hasType = identity.dropFirst(type.count).first == ":"
        let rest = hasType ? String(identity.dropFirst(type.count + 1)) : identity
        switch hasType ? String(type) : "FILE" {
        // A certificate and its key.
        case "FILE": return rest.split(separator: ",").map(String.init)
        case "PKCS12", "DIR": return rest.isEmpty ? [] : [rest]
        default: return []
        }
    }
}
