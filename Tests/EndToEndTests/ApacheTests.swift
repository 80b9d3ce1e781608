import AsyncHTTPClient
import Foundation
import KerberosSSO
import KerberosTesting
import KerberosTestingTraits
import NIOCore
import NIOHTTP1
import NegotiateAsyncHTTPClient
import TestSupport
import Testing

/// Requests to a real Apache with mod_auth_gssapi in each of its modes, compared with curl.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/localhost"])) struct ApacheTests {
    let realm: TestRealm

    init() throws {
        realm = try TestRealm.required()
    }

    struct Server: CustomTestStringConvertible {
        let testDescription: String
        let options: ProtectedWebServerOptions

        init(_ description: String, _ options: ProtectedWebServerOptions) {
            testDescription = description
            self.options = options
        }

        static let all = [
            Server("http, request-bound", .init()),
            Server("http, connection-bound", .init(connectionBound: true)),
            Server("https, request-bound", .init(usesTLS: true)),
            Server("https, connection-bound", .init(connectionBound: true, usesTLS: true)),
            Server("HTTP/2, request-bound", .init(usesTLS: true, usesHTTP2: true)),
            Server("HTTP/2, connection-bound", .init(connectionBound: true, usesTLS: true, usesHTTP2: true)),
            Server("http, asks once", .init(negotiatesOnce: true)),
        ]
    }

    @Test(arguments: Server.all, ["GET", "POST"]) func `Apache answers the client as it answers curl`(server kind: Server, method: String)
        async throws
    {
        try await withProtectedWebServer(realm: realm, kind.options) { server in
            let body = method == "POST" ? String(repeating: "x", count: 200_000) : nil
            let cache = try await realm.signedInCache()
            var arguments = ["-sS", "--max-time", "120", "--negotiate", "-u", ":", "-w", "%{http_code}"]
            // curl 7.88 fails with a stream error if an upload over HTTP/2 is challenged.
            if body != nil { arguments += ["--http1.1"] }
            if kind.options.usesTLS { arguments += ["--cacert", server.certificatePath] }
            if body != nil { arguments += ["--data-binary", "@-"] }
            let theirs = try await realm.run(
                "curl",
                arguments + ["\(server.url)/hello"],
                environment: ["KRB5CCNAME": cache, "no_proxy": "*"],
                input: body
            )
            let clients = try await SignedInClients(realm: realm, trusting: kind.options.usesTLS ? server.certificatePath : nil)
            try await clients.withClient { client in
                var request = HTTPClientRequest(url: "\(server.url)/hello")
                request.method = HTTPMethod(rawValue: method)
                request.body = body.map { .bytes(ByteBuffer(string: $0)) }
                let answer = try await client.negotiate(request)
                #expect(answer.delivery == .authenticated)
                #expect(answer.report.isChannelBound == kind.options.usesTLS)
                let ours = try await answer.response.text + "\(answer.response.status.code)"
                #expect(answer.response.version.major == (kind.options.usesHTTP2 ? 2 : 1))
                #expect(ours == theirs.output, "\(theirs.errors)")
                #expect(ours.hasPrefix("Hello alice@EXAMPLE.TEST\n200"))
            }
        }
    }

    @Test func `a connection-bound server challenges a client once`() async throws {
        try await withProtectedWebServer(realm: realm, .init(connectionBound: true)) { server in
            let clients = try await SignedInClients(realm: realm)
            try await clients.withClient { client in
                for path in ["hello", "other", "hello", "other"] {
                    let answer = try await client.negotiate(HTTPClientRequest(url: "\(server.url)/\(path)"))
                    #expect(answer.delivery == .authenticated)
                    #expect(try await answer.response.text.hasSuffix("alice@EXAMPLE.TEST\n"))
                }
            }
            #expect(try await comesTrue { try server.accessLog().split(separator: "\n").count == 5 })
            #expect(try server.accessLog().split(separator: "\n").filter { $0.hasPrefix("401") }.count == 1)
        }
    }

    @Test(arguments: Server.all.filter { !$0.options.negotiatesOnce })
    func `requests of two concurrent users are never confused`(server kind: Server) async throws {
        try await withProtectedWebServer(realm: realm, kind.options) { server in
            let users = ["alice", "bob"]
            let clients = try await SignedInClients(users, realm: realm, trusting: kind.options.usesTLS ? server.certificatePath : nil)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for user in users {
                    group.addTask {
                        try await clients.withClient({ $0.negotiation.principal = "\(user)@EXAMPLE.TEST" }) { client in
                            for _ in 1...10 {
                                let text = try await client.execute(HTTPClientRequest(url: "\(server.url)/hello")).text
                                #expect(text == "Hello \(user)@EXAMPLE.TEST\n")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test(arguments: Server.all.filter { $0.options.connectionBound })
    func `a client whose user changes gets a connection for each user`(server kind: Server) async throws {
        try await withProtectedWebServer(realm: realm, kind.options) { server in
            let clients = try await SignedInClients(
                ["alice", "bob"],
                realm: realm,
                trusting: kind.options.usesTLS ? server.certificatePath : nil
            )
            try await clients.withClient { client in
                for user in ["alice", "bob", "alice", "bob"] {
                    try await clients.sso.makeDefault(try Principal("\(user)@EXAMPLE.TEST"))
                    let text = try await client.execute(HTTPClientRequest(url: "\(server.url)/hello")).text
                    #expect(text == "Hello \(user)@EXAMPLE.TEST\n")
                }
            }
        }
    }

    @Test func `Persistent-Auth over HTTP/2 is ignored`() async throws {
        try await withProtectedWebServer(realm: realm, .init(connectionBound: true, usesTLS: true, usesHTTP2: true)) { server in
            let clients = try await SignedInClients(realm: realm, trusting: server.certificatePath)
            try await clients.withClient { client in
                for _ in 1...3 {
                    let answer = try await client.negotiate(HTTPClientRequest(url: "\(server.url)/hello"))
                    #expect(answer.delivery == .authenticated)
                    #expect(answer.response.headers.first(name: "Persistent-Auth") == "true")
                    #expect(try await answer.response.text == "Hello alice@EXAMPLE.TEST\n")
                }
            }
            #expect(try await comesTrue { try server.accessLog().split(separator: "\n").filter { $0.hasPrefix("401") }.count == 3 })
        }
    }

    @Test func `a response of Apache is streamed`() async throws {
        try await withProtectedWebServer(realm: realm, .init(usesTLS: true)) { server in
            let clients = try await SignedInClients(realm: realm, trusting: server.certificatePath)
            try await clients.withClient { client in
                let response = try await client.execute(HTTPClientRequest(url: "\(server.url)/hello"))
                var text = ""
                for try await piece in response.body { text += String(buffer: piece) }
                #expect(text == "Hello alice@EXAMPLE.TEST\n")
            }
        }
    }

    @Test func `a redirect is authenticated with its own security context`() async throws {
        try await withProtectedWebServer(realm: realm) { target in
            let redirects = Dictionary(
                uniqueKeysWithValues: [301, 302, 303, 307, 308].map {
                    ("/to/\($0)", ProtectedWebServerOptions.Redirect(status: $0, target: "\(target.url)/hello"))
                }
            )
            try await withProtectedWebServer(realm: realm, .init(redirects: redirects)) { server in
                let clients = try await SignedInClients(realm: realm)
                try await clients.withClient { client in
                    for path in redirects.keys {
                        let answer = try await client.negotiate(HTTPClientRequest(url: server.url + path))
                        #expect(answer.delivery == .authenticated)
                        #expect(try await answer.response.text == "Hello alice@EXAMPLE.TEST\n")
                        #expect(answer.response.history.count == 2)
                    }
                }
            }
        }
    }
}
