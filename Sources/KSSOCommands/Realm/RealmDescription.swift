internal import KerberosTesting

/// What `ksso realm run --json` prints, on one line.
struct RealmDescription: Encodable {
    struct Realm: Encodable {
        let name: String
        let kdc: String
        let configuration: String
        let keytab: String
        let directory: String
    }

    struct Server: Encodable {
        let realm: String
        let url: String
        /// The certificate to trust; nil for plain http.
        let certificate: String?
    }

    let realms: [Realm]
    let web: [Server]
    /// The variables for programs that shall see the realm.
    let environment: [String: String]
}
