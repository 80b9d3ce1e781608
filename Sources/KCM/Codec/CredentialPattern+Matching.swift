extension CredentialPattern {
    /// Whether realms count when servers are compared.
    var comparesServerRealm: Bool { match.isDisjoint(with: [.ignoreRealms, .serverNameOnly]) }

    /// Whether a credential is one of those meant: `krb5int_cc_creds_match_request`.
    package func matches(_ credential: MarshalledCredential) -> Bool {
        matchesPrincipals(credential) && matchesSessionKey(credential) && matchesFlags(credential) && matchesTimes(credential)
            && (!match.contains(.authorizationData) || authorizationData == credential.authorizationData)
            && (!match.contains(.secondTicket) || secondTicket == credential.secondTicket)
            && (!match.contains(.keyType) || encryptionType == credential.encryptionType)
    }

    private func matchesPrincipals(_ credential: MarshalledCredential) -> Bool {
        if let server {
            guard comparesServerRealm ? server.isSame(as: credential.server) : server.hasSameComponents(as: credential.server) else {
                return false
            }
        }
        guard let client else { return true }
        return match.contains(.ignoreRealms) ? client.hasSameComponents(as: credential.client) : client.isSame(as: credential.client)
    }

    /// A ticket for user-to-user authentication is never given to one that did not ask for it.
    private func matchesSessionKey(_ credential: MarshalledCredential) -> Bool {
        credential.isSessionKey == (match.contains(.isSessionKey) && isSessionKey)
    }

    private func matchesFlags(_ credential: MarshalledCredential) -> Bool {
        (!match.contains(.exactFlags) || ticketFlags == credential.ticketFlags)
            && (!match.contains(.flags) || ticketFlags & credential.ticketFlags == ticketFlags)
    }

    /// A time of zero in the pattern asks for nothing.
    private func matchesTimes(_ credential: MarshalledCredential) -> Bool {
        guard !match.isDisjoint(with: [.times, .exactTimes]) else { return true }
        let held = credential.times
        return (!match.contains(.exactTimes) || times == held)
            && (!match.contains(.times) || (times.renewTill <= held.renewTill && times.end <= held.end))
    }
}
