import Foundation

extension TestRealm {
    /// Makes a certificate for a user of a realm that takes them: ``TestRealmOptions/acceptsCertificates``.
    ///
    /// The user has to be in the database, and needs no password there.
    /// - Parameters:
    ///   - principal: The user, without the realm.
    ///   - pin: If given, certificate and key are in a PKCS #12 file that asks for it.
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` if the realm takes none, `programMissing` for openssl.
    public func certificate(for principal: String, pin: String? = nil) async throws -> ClientCertificate {
        guard try center.configuration.options.acceptsCertificates else {
            throw KerberosTestingError(.invalidArgument, "\(name) takes no certificates; make it with acceptsCertificates: true.")
        }
        guard !principal.contains(where: \.isNewline), pin?.contains(where: \.isNewline) != true else {
            throw KerberosTestingError(.invalidArgument, "There is a line break in the name or in the PIN.")
        }
        let certificates = RealmCertificates(files, environment: environment)
        let file = UUID().uuidString
        let path = "\(certificates.directory)/\(file)"
        try await certificates.issue(file, to: principal, for: .client)
        if let pin { try await certificates.protect(file, pin: pin) }
        return ClientCertificate(
            certificatePath: "\(path).pem",
            keyPath: "\(path).key",
            identity: pin == nil ? "FILE:\(path).pem,\(path).key" : "PKCS12:\(path).p12"
        )
    }

    /// The certificate of the authority that signed the KDC's and the users' own, in PEM.
    public var certificateAuthorityPath: String { "\(files.certificateFolder)/ca.pem" }
}
