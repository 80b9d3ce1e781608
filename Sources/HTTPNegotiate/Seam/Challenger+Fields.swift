package import HTTPTypes
package import SignOnPolicy

extension Challenger {
    /// The status of a response that asks for a ticket.
    package var status: Int { self == .origin ? 401 : 407 }

    /// The response field with the challenges.
    package var challengeField: HTTPField.Name { self == .origin ? .wwwAuthenticate : .proxyAuthenticate }

    /// The request field with the ticket.
    package var credentialsField: HTTPField.Name { self == .origin ? .authorization : .proxyAuthorization }

    /// The fields of a response that may contain a token: an origin server proves itself in `WWW-Authenticate` (RFC 4559 section 5), a
    /// proxy in `Proxy-Authenticate`, or in `Proxy-Authentication-Info` (RFC 9110 section 11.7.3).
    package var tokenFields: [HTTPField.Name] {
        self == .origin ? [.wwwAuthenticate] : [.proxyAuthenticate, .proxyAuthenticationInfo]
    }
}
