import AsyncHTTPClient
import Foundation
import KerberosSSO
import KerberosTesting
import KerberosTestingTraits
import NIOHTTP1
import NegotiateAsyncHTTPClient
import TestSupport
import Testing

/// One client of a service that many concurrent tasks use.
@Suite(.serialized, .testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"])) struct LoadTests {
    let realm: TestRealm

    init() throws {
        realm = try TestRealm.required()
    }

    @Test(arguments: [false, true]) func `concurrent tasks share one ticket, and each request has its own token`(isPreemptive: Bool)
        async throws
    {
        // With its replay cache Apache refuses a repeated token.
        try await withProtectedWebServer(realm: realm, .init(usesReplayCache: true)) { server in
            let clients = try await SignedInClients(realm: realm) {
                if isPreemptive { $0.preemptiveHosts = [try HostRule("localhost")] }
            }
            let before = try realm.issued(.serviceTicket, server: "HTTP/localhost")
            try await clients.withClient { client in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 1...64 {
                        group.addTask {
                            for _ in 1...4 {
                                let answer = try await client.negotiate(
                                    HTTPClientRequest(url: "\(server.url)/hello"),
                                    timeout: .seconds(120)
                                )
                                #expect(answer.delivery == .authenticated)
                                #expect(try await answer.response.text == "Hello alice@EXAMPLE.TEST\n")
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            #expect(try realm.issued(.serviceTicket, server: "HTTP/localhost") - before == 1)
            #expect(try !server.errorLog().localizedCaseInsensitiveContains("replay"))
        }
    }

    @Test func `cancelled tasks do not affect other tasks or the client`() async throws {
        try await withProtectedWebServer(realm: realm) { server in
            let clients = try await SignedInClients(realm: realm)
            try await clients.withClient { client in
                await withTaskGroup(of: Void.self) { group in
                    for number in 1...48 {
                        group.addTask {
                            let request = Task {
                                try await client.execute(HTTPClientRequest(url: "\(server.url)/hello"), timeout: .seconds(120)).text
                            }
                            // Cancels at different points: the connection, the challenge, the ticket, the second leg, the body.
                            for _ in 0..<number { await Task.yield() }
                            if number.isMultiple(of: 2) { request.cancel() }
                            switch await request.result {
                            case .success(let text): #expect(text == "Hello alice@EXAMPLE.TEST\n")
                            case .failure(let error): #expect(number.isMultiple(of: 2) && error is CancellationError, "\(error)")
                            }
                        }
                    }
                }
                let text = try await client.execute(HTTPClientRequest(url: "\(server.url)/hello")).text
                #expect(text == "Hello alice@EXAMPLE.TEST\n")
            }
        }
    }
}
