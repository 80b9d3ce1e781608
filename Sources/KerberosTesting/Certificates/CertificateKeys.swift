/// The RSA keys of the certificates for PKINIT (RFC 4556) in this process.
///
/// openssl needs about 0.4 s of processor time to create a key, several times as much as the rest of a realm. Therefore the realms of a
/// process with the same name use the same keys: the first certificate of each has the first key, and so on.
actor CertificateKeys {
    /// A key by the name of its realms and its place.
    private struct Place: Hashable {
        let realm: String
        let number: Int
    }

    static let shared = CertificateKeys()

    /// Keys in PEM. A key that could not be created is removed, because the next realm may have another environment, with openssl.
    private var keys: [Place: Task<String, any Error>] = [:]
    /// How many keys the certificates in a folder have.
    private var used: [String: Int] = [:]

    /// Returns a key, in PEM, that no other certificate in the realm's folder has. A canceled caller waits for it too.
    ///
    /// - Parameters:
    ///   - folder: The folder of the realm's certificates.
    ///   - environment: The environment of openssl, if it has to create the key.
    /// - Throws: ``KerberosTestingError`` with the code `programMissing` if openssl is missing.
    func next(in folder: String, realm: String, environment: [String: String]) async throws -> String {
        let number = used[folder, default: 0]
        used[folder] = number + 1
        // A realm needs two, for its authority and its KDC: they are created at the same time.
        if number == 0 { _ = task(for: Place(realm: realm, number: 1), environment) }
        let place = Place(realm: realm, number: number)
        let task = task(for: place, environment)
        do {
            return try await task.value
        } catch {
            if keys[place] == task { keys[place] = nil }
            throw error
        }
    }

    private func task(for place: Place, _ environment: [String: String]) -> Task<String, any Error> {
        if let task = keys[place] { return task }
        let task = Task {
            let words = ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
            // Without input, no folder for it is used.
            return try await Command.require("openssl", words, environment: environment, scratch: "").output
        }
        keys[place] = task
        return task
    }
}
