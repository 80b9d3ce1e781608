import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@testable import Kerberos

/// Tickets as large as those of a user who belongs to many groups of a directory.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"])) struct LargeTicketTests {
    /// Sizes in bytes. The token contains the ticket once and is slightly longer.
    @Test(arguments: [16_384, 49_152, 64_512])
    func `a large ticket authenticates with and without channel bindings`(size: Int) async throws {
        let realm = try TestRealm.required()
        let user = try await realm.signIn()
        let service = try realm.principal("HTTP/www.example.test")
        let data = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let ticket = try await user.client.serviceTicket(for: service, in: user.cache, authorizationData: data)
        let credential = try await user.client.initiatorCredential(for: ticket, from: user.cache)
        let acceptor = try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled)
        let token = try firstToken(from: credential)
        #expect(size..<size + 1024 ~= token.count)
        #expect(try establish(credential, acceptor).server.initiator == "alice@EXAMPLE.TEST")
        let bindings = ChannelBindings(applicationData: Array("tls-server-end-point:one".utf8))
        let bound = try establish(credential, acceptor, clientBindings: bindings, serverBindings: bindings)
        #expect(bound.server.flags.contains(.channelBound))
    }
}
