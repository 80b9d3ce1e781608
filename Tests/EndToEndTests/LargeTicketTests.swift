import AsyncHTTPClient
import Foundation
import Kerberos
import KerberosSSO
import KerberosTesting
import KerberosTestingTraits
import NIOHTTP1
import NegotiateAsyncHTTPClient
import SignOnPolicy
import TestSupport
import Testing

/// Tickets as large as those of an Active Directory user with many groups, sent to a real Apache.
@Suite(.serialized, .testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"])) struct LargeTicketTests {
    let realm: TestRealm

    init() throws {
        realm = try TestRealm.required()
    }

    /// In bytes: the token is slightly longer, and its base64 field a third longer.
    @Test(arguments: [50_000, 64_512], [false, true])
    func `Apache accepts a token of nearly 64 KiB`(size: Int, usesTLS: Bool) async throws {
        try await withProtectedWebServer(realm: realm, .init(usesTLS: usesTLS)) { server in
            let clients = try await signedInClients(ticketSize: size, trusting: usesTLS ? server.certificatePath : nil)
            let before = try realm.issued(.serviceTicket, server: "HTTP/localhost")
            try await clients.withClient { client in
                let answer = try await client.negotiate(HTTPClientRequest(url: "\(server.url)/hello"))
                #expect(answer.delivery == .authenticated)
                #expect(answer.report.isChannelBound == usesTLS)
                #expect(try await answer.response.text == "Hello alice@EXAMPLE.TEST\n")
            }
            #expect(try realm.issued(.serviceTicket, server: "HTTP/localhost") == before, "the large ticket was used")
        }
    }

    /// Tokens that fit are sent over HTTP/2, larger ones over HTTP/1.1.
    @Test(arguments: [4_000, 17_000, 24_000, 43_000]) func `a server with HTTP/2 accepts a large token`(size: Int) async throws {
        try await withProtectedWebServer(realm: realm, .init(usesTLS: true, usesHTTP2: true)) { server in
            let clients = try await signedInClients(ticketSize: size, trusting: server.certificatePath)
            try await clients.withClient { client in
                for _ in 1...2 {
                    let answer = try await client.negotiate(HTTPClientRequest(url: "\(server.url)/hello"), timeout: .seconds(60))
                    #expect(answer.delivery == .authenticated)
                    #expect(answer.report.isChannelBound)
                    #expect(answer.response.version == (size < 8_000 ? .http2 : .http1_1))
                    #expect(try await answer.response.text == "Hello alice@EXAMPLE.TEST\n")
                }
            }
        }
    }

    /// The field is not the token's, and Apache ignores it.
    @Test func `a server with HTTP/2 accepts a large custom field`() async throws {
        try await withProtectedWebServer(realm: realm, .init(usesTLS: true, usesHTTP2: true)) { server in
            let clients = try await signedInClients(ticketSize: 1_000, trusting: server.certificatePath)
            try await clients.withClient { client in
                var request = HTTPClientRequest(url: "\(server.url)/hello")
                request.headers.add(name: "X-Large", value: String(repeating: "~", count: 20_000))
                let answer = try await client.negotiate(request, timeout: .seconds(60))
                #expect(answer.delivery == .authenticated)
                #expect(try await answer.response.text == "Hello alice@EXAMPLE.TEST\n")
            }
        }
    }

    /// Apache's default limit for a field is 8,190 bytes.
    @Test(arguments: [false, true]) func `an error for a too large token explains how to raise the server's limit`(usesTLS: Bool)
        async throws
    {
        try await withProtectedWebServer(realm: realm, .init(usesTLS: usesTLS, maximumFieldSize: 8_190)) { server in
            let clients = try await signedInClients(ticketSize: 50_000, trusting: usesTLS ? server.certificatePath : nil)
            try await clients.withClient { client in
                let error = await #expect(throws: AuthorizationError.self) {
                    _ = try await client.negotiate(HTTPClientRequest(url: "\(server.url)/hello"))
                }
                #expect(error?.code == .tokenTooLarge)
                let message = try #require(error?.message)
                #expect(message.contains("The server answered 400: the ticket makes a header field of "), "\(message)")
                #expect(message.contains("LimitRequestFieldSize"), "\(message)")
                let size = try #require(message.firstMatch(of: /field of (\d+) bytes/).flatMap { Int($0.1) })
                #expect(66_666..<70_000 ~= size, "50,000 bytes in base64")
            }
        }
    }

    /// Signs in alice, with a large ticket for the server in the cache.
    private func signedInClients(ticketSize: Int, trusting certificatePath: String?) async throws -> SignedInClients {
        let clients = try await SignedInClients(realm: realm, trusting: certificatePath)
        let session = try #require(try await clients.sso.sessions().sessions.first)
        let kerberos = KerberosClient(realm.configuration)
        let service = try Principal("HTTP/localhost", defaultRealm: realm.name)
        let data = (0..<ticketSize).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let ticket = try await kerberos.serviceTicket(for: service, in: session.cache, authorizationData: data)
        try await kerberos.store(ticket, in: session.cache)
        return clients
    }
}
