internal import Kerberos

extension KerberosExtension {
    /// Whether a KDC of a realm answers: it is asked for a ticket, as at the beginning of a sign-in, and no answer is ever proved.
    ///
    /// No password and no key is sent, so no account can be locked by it.
    ///
    /// - Parameters:
    ///   - realm: The realm.
    ///   - name: A principal that signs in there, which looks to the KDC like any sign-in that was not finished; nil is the realm's own.
    ///   - deadline: How long to wait for an answer.
    package func reachesKDC(of realm: String, askingFor name: String? = nil, deadline: Duration = .seconds(4)) async -> Bool {
        do throws(KerberosError) {
            let principal = try Principal(name ?? "krbtgt/\(realm)", defaultRealm: realm)
            // Of its own, so that it neither waits for the realm's other requests nor holds them up, and sees the network as it is now.
            let client = clients.makeClient(for: realm, isProtected: false)
            _ = try await client.initialCredential(for: principal, using: .prompter(GivenAnswer(nil)), options: .init(deadline: deadline))
            return true
        } catch {
            return ![.kdcUnreachable, .realmUnknown, .canceled, .configurationInvalid].contains(error.code)
        }
    }
}
