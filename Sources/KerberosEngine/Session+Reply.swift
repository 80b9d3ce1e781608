internal import Foundation
internal import HTTPNegotiate
internal import Kerberos

extension Session {
    /// What an operation that leaves this session behind tells.
    var reply: AuthorizationReply {
        AuthorizationReply(
            userPrincipalName: principal.description,
            realm: realm,
            ticketExpires: ticketExpires.addingTimeInterval(-clockOffset),
            renewUntil: renewUntil?.addingTimeInterval(-clockOffset),
            passwordExpires: passwordExpires,
            cache: cache.rawValue
        )
    }
}
