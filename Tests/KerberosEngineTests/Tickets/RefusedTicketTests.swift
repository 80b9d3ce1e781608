import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import SignOnPolicy
import TestSupport
import Testing

/// Which errors of a server cost another request to the KDC.
struct RefusedTicketTests {
    private static let host = "www.example.test"

    /// The Kerberos errors with which a server refuses a token, with their codes in RFC 4120.
    enum Refusal: UInt8, CaseIterable, Sendable {
        case badIntegrity = 31
        case repeated = 34
        case badMatch = 36
        case clockSkew = 37
        case badAddress = 38
        case modified = 41
        case badKeyVersion = 44
        case noKey = 45

        /// Whether the server could not decrypt the ticket, so that another ticket may be accepted.
        var concernsTicket: Bool {
            switch self {
            case .badIntegrity, .modified, .badKeyVersion, .noKey: true
            case .repeated, .badMatch, .clockSkew, .badAddress: false
            }
        }
    }

    @Test(arguments: Refusal.allCases)
    func `only an error about the ticket costs another request to the KDC`(refusal: Refusal) async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/\(Self.host)"]) { realm in
            let kerberos = try CacheHome(realm).makeExtension()
            try await kerberos.signIn("alice", using: .secret)
            let grant = try await kerberos.grant(Self.host)
            let token = RefusalToken.bytes(code: refusal.rawValue, host: Self.host, realm: realm.name)
            let error = await authorizationError { try await grant.exchange.respond(to: token) }
            #expect(refusal == .clockSkew || error?.code == .refusedByServer, "\(error as Any)")
            #expect(await grant.exchange.replaceRefusedTicket() == refusal.concernsTicket, "\(error as Any)")
            let count = refusal.concernsTicket ? 2 : 1
            #expect(try realm.issued(.serviceTicket, client: "alice", server: "HTTP/\(Self.host)") == count)
            // Either way the next token is valid.
            let next = try await kerberos.grant(Self.host)
            #expect(try Acceptance(next.token, keytab: realm.keytabPath).client == "alice@EXAMPLE.TEST")
            #expect(try realm.issued(.serviceTicket, client: "alice", server: "HTTP/\(Self.host)") == count)
        }
    }
}
