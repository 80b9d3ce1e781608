internal import HTTPNegotiate
internal import Kerberos

/// Why a server with a keytab can't read the tickets that the KDC gives out.
enum KeytabFault {
    case noEntry
    case otherVersion([TicketKey])
    case otherEncryption([TicketKey])
    /// Name, number and type are the same, and the key is another one.
    case otherKey

    /// What can be told from the names of the keys; nil where one fits.
    init?(of key: TicketKey, among own: [TicketKey]) {
        if own.contains(key) { return nil }
        let sameVersion = own.filter { $0.version == key.version }
        if own.isEmpty {
            self = .noEntry
        } else if sameVersion.isEmpty {
            self = .otherVersion(own)
        } else {
            self = .otherEncryption(sameVersion)
        }
    }

    func finding(_ service: Principal, _ keytab: String, _ key: TicketKey) -> Finding {
        let export = "Export the keytab again: ktadd or ktpass, and restart the server."
        switch self {
        case .noEntry:
            return .failed("\(keytab) has no key of \(service), for which the KDC gives out tickets.", remedy: export)
        case .otherVersion(let own):
            let versions = Set(own.map(\.version)).sorted().map(String.init).joined(separator: ", ")
            return .failed(
                "the KDC encrypts tickets for \(service) with the key of kvno \(key.version), and \(keytab) has kvno \(versions): "
                    + "the keytab is \(own.allSatisfy { $0.version < key.version } ? "old" : "another one's").",
                remedy: export
            )
        case .otherEncryption(let own):
            let types = own.map(\.encryptionType).joined(separator: ", ")
            return .failed(
                "the KDC encrypts tickets for \(service) with \(key.encryptionType), and \(keytab) has kvno \(key.version) with another "
                    + "encryption type only: \(types).",
                remedy: "Export the keytab with all the account's encryption types, or allow the account that one."
            )
        case .otherKey:
            return .failed(
                "\(keytab) has a key of \(service) with the KDC's number (\(key)), and it does not decrypt the KDC's tickets: the service "
                    + "principal stands on another account than the server's.",
                remedy: "Find the account: setspn -Q HTTP/HOST; take the service principal off it and put it on the server's."
            )
        }
    }
}
