import Foundation
import HTTPNegotiate
import HTTPTypes
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

/// A service's keys change while its clients have tickets for it, with a real KDC, a real Apache, and a server that gives no reason.
@Suite struct RotatedKeyTests {
    /// The location of the tickets.
    enum Tickets: String, CaseIterable, Sendable {
        case file = "FILE"
        case collection = "DIR"
        case keytab
    }

    private static let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/localhost", "app"])

    private func makeExtension(_ realm: TestRealm, _ tickets: Tickets, cache: String) throws -> KerberosExtension {
        let hosts = [try HostRule("localhost")]
        return KerberosExtension(
            KerberosExtension.Options(
                configurations: [ExtensionConfiguration(realm: realm.name, hosts: hosts, plainHTTPHosts: hosts)],
                credential: tickets == .keytab ? .keytab(.keytab(realm.keytabPath), principal: "app") : .sessions,
                base: .files([realm.configurationPath]),
                defaultCacheName: cache
            )
        )
    }

    private func withExtensions(
        _ tickets: Tickets,
        _ body: (TestRealm, KerberosExtension, _ another: KerberosExtension, _ cache: String) async throws -> Void
    ) async throws {
        try await withTestRealm(Self.options) { realm in
            let path = "\(realm.directory)/\(UUID().uuidString)"
            if tickets == .collection { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }
            let cache = tickets == .keytab ? "FILE:\(path)" : "\(tickets.rawValue):\(path)"
            let (sso, another) = (try makeExtension(realm, tickets, cache: cache), try makeExtension(realm, tickets, cache: cache))
            if tickets != .keytab { try await sso.signIn("alice", using: .password(Secret("secret"))) }
            try await body(realm, sso, another, cache)
        }
    }

    @Test(arguments: ClientLibrary.allCases, Tickets.allCases)
    func `a ticket older than the server's key is replaced`(library: ClientLibrary, tickets: Tickets) async throws {
        try await withExtensions(tickets) { realm, sso, another, cache in
            try await withProtectedWebServer(realm: realm) { server in
                let request = ClientRequest(method: "POST", url: "\(server.url)/hello", body: .text("name=value"))
                try await library.withClient(extension: another) { other in
                    try await library.withClient(extension: sso) { client in
                        for client in [client, other] { #expect(try await client.send(request).status == 200) }
                        try await realm.rotateKeys(of: "HTTP/localhost", keepingOld: false, in: server.keytabPath)
                        for client in [client, other, client] {
                            let reply = try await client.send(request)
                            #expect(reply.status == 200 && reply.delivery == .authenticated, "\(reply)")
                        }
                    }
                }
            }
            guard tickets != .keytab else { return }
            // The second extension has found the first one's ticket, which is the only one that klist lists.
            #expect(try realm.issued(.serviceTicket, server: "HTTP/localhost") == 2)
            let list = try await realm.run("klist", [], environment: ["KRB5CCNAME": cache])
            #expect(list.output.components(separatedBy: "  HTTP/localhost@").count == 2 && list.output.contains("krbtgt/"), "\(list)")
        }
    }

    /// The service was deleted and created again, so that its new key has the version number of the old one.
    @Test(arguments: ClientLibrary.allCases)
    func `a ticket encrypted with another key of the same version is replaced`(library: ClientLibrary) async throws {
        try await withExtensions(.file) { realm, sso, _, _ in
            try await withProtectedWebServer(realm: realm) { server in
                try await library.withClient(extension: sso) { client in
                    #expect(try await client.send(ClientRequest(url: "\(server.url)/hello")).status == 200)
                    _ = try await realm.kadmin(["delete_principal", "-force", "HTTP/localhost"])
                    _ = try await realm.kadmin(["add_principal", "-requires_preauth", "-randkey", "HTTP/localhost"])
                    let keytab = try await realm.keytab(for: "HTTP/localhost")
                    // With the old ticket, because the next request replaces it.
                    let token = try await sso.token(for: "\(server.url)/hello")
                    let error = #expect(throws: KerberosError.self) { try Acceptance(token, keytab: keytab) }
                    #expect(error?.libraryMessage.contains("found in keytab but cannot decrypt ticket") == true, "\(error as Any)")
                    _ = try await realm.run("cp", [keytab, server.keytabPath])  // in place, so that the server may still read it
                    let reply = try await client.send(ClientRequest(url: "\(server.url)/hello"))
                    #expect(reply.status == 200 && reply.delivery == .authenticated, "\(reply)")
                    #expect(try realm.issued(.serviceTicket, server: "HTTP/localhost") == 2)
                }
            }
        }
    }

    @Test(arguments: ClientLibrary.allCases)
    func `a ticket refused without a reason is also replaced`(library: ClientLibrary) async throws {
        try await withExtensions(.file) { realm, sso, _, _ in
            try await withAcceptorServer(realm: realm) { server in
                try await library.withClient(extension: sso) { client in
                    #expect(try await client.send(ClientRequest(url: "\(server.url)/")).status == 200)
                    try await realm.rotateKeys(of: "HTTP/localhost", keepingOld: false)
                    let reply = try await client.send(ClientRequest(url: "\(server.url)/"))
                    #expect(reply.status == 200 && reply.body == "Hello alice@EXAMPLE.TEST\n")
                    #expect(try realm.issued(.serviceTicket, server: "HTTP/localhost") == 2)
                }
            }
        }
    }

    /// The keytab was not updated at the last key change. The caller gets the refusal with its page; the replacement ticket stays in the
    /// cache.
    @Test(arguments: ClientLibrary.allCases)
    func `a server that refuses every ticket costs the KDC one more ticket request`(library: ClientLibrary) async throws {
        try await withExtensions(.file) { realm, sso, _, _ in
            try await withProtectedWebServer(realm: realm) { server in
                try await library.withClient(extension: sso) { client in
                    #expect(try await client.send(ClientRequest(url: "\(server.url)/hello")).status == 200)
                    try await realm.rotateKeys(of: "HTTP/localhost", keepingOld: false, in: server.keytabPath)
                    try await realm.rotateKeys(of: "HTTP/localhost", keepingOld: false, updatesKeytab: false)
                    for _ in 1...3 {
                        let reply = try await client.send(ClientRequest(url: "\(server.url)/hello"))
                        guard case .refused = reply.delivery, reply.status == 401, reply.body.contains("401") else {
                            Issue.record("\(reply) is not a refusal with its page")
                            return
                        }
                    }
                    #expect(try realm.issued(.serviceTicket, server: "HTTP/localhost") == 2)
                }
            }
        }
    }

    @Test(arguments: ClientLibrary.allCases)
    func `a refused ticket stays in the cache if no KDC answers`(library: ClientLibrary) async throws {
        try await withExtensions(.file) { realm, sso, _, cache in
            try await withProtectedWebServer(realm: realm) { server in
                try await library.withClient(extension: sso) { client in
                    #expect(try await client.send(ClientRequest(url: "\(server.url)/hello")).status == 200)
                    try await realm.rotateKeys(of: "HTTP/localhost", keepingOld: false, in: server.keytabPath)
                    try await realm.stopKDC()
                    #expect(try await client.send(ClientRequest(url: "\(server.url)/hello")).status == 401)
                    let list = try await realm.run("klist", [], environment: ["KRB5CCNAME": cache])
                    #expect(list.output.contains("HTTP/localhost"), "\(list)")
                }
            }
        }
    }

    /// The service ticket is in the cache, so no KDC reply corrects the offset.
    @Test(arguments: ClientLibrary.allCases)
    func `a token refused for an outdated clock offset is replaced`(library: ClientLibrary) async throws {
        try await withTestRealm(Self.options) { realm in
            let cache = "FILE:\(realm.directory)/cache"
            let wrong = Duration.seconds(-3600)
            try await realm.kinit("alice", password: "secret", cache: cache, clockOffset: wrong)
            try await realm.kvno("HTTP/localhost", cache: cache, clockOffset: wrong)
            try await withProtectedWebServer(realm: realm) { server in
                try await library.withClient(extension: try makeExtension(realm, .file, cache: cache)) { client in
                    for _ in 1...2 {
                        let reply = try await client.send(ClientRequest(url: "\(server.url)/hello"))
                        #expect(reply.status == 200 && reply.delivery == .authenticated, "\(reply)")
                    }
                }
            }
            #expect(try realm.issued(.serviceTicket, server: "HTTP/localhost") == 2)
        }
    }

    /// The server's clock is wrong; the offset of the KDC's clock is correct.
    @Test(arguments: ClientLibrary.allCases)
    func `a server with a wrong clock does not change the cached clock offset`(library: ClientLibrary) async throws {
        var options = Self.options
        options.clockOffset = .seconds(3600)
        try await withTestRealm(options) { realm in
            let path = "\(realm.directory)/cache"
            let sso = try makeExtension(realm, .file, cache: "FILE:\(path)")
            try await sso.signIn("alice", using: .password(Secret("secret")))
            try await realm.kvno("HTTP/localhost", cache: "FILE:\(path)")
            func written() throws -> Date? {
                try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
            }
            let former = try #require(try written())
            try await withProtectedWebServer(realm: realm) { server in
                try await library.withClient(extension: sso) { client in
                    for _ in 1...2 {
                        let reply = try await client.send(ClientRequest(url: "\(server.url)/hello"))
                        guard case .refused(let reason) = reply.delivery, reply.status == 401,
                            reason.contains("the server's clock and the KDC's differ too much")
                        else {
                            Issue.record("\(reply) is not a refusal that names the clock")
                            return
                        }
                    }
                }
            }
            #expect(try await sso.sessions().sessions.map { $0.clockOffset > 3000 } == [true])
            #expect(try written() == former)
        }
    }

    /// The KDC accepts requests with and without an offset within the tolerance, so its tickets do not prove that the offset is wrong.
    @Test(arguments: ClientLibrary.allCases)
    func `a server with a wrong clock does not change a small clock offset`(library: ClientLibrary) async throws {
        var options = Self.options
        options.clockOffset = .seconds(240)
        try await withTestRealm(options) { realm in
            let sso = try makeExtension(realm, .file, cache: "FILE:\(realm.directory)/cache")
            try await sso.signIn("alice", using: .password(Secret("secret")))
            try await library.withClient(extension: sso) { client in
                try await withProtectedWebServer(realm: realm, .init(clockOffset: .seconds(-600))) { server in
                    let reply = try await client.send(ClientRequest(url: "\(server.url)/hello"))
                    #expect(reply.status == 401, "\(reply)")
                }
                // It accepts tokens with the KDC's time, and none with this machine's.
                try await withProtectedWebServer(realm: realm, .init(clockOffset: .seconds(400))) { server in
                    let reply = try await client.send(ClientRequest(url: "\(server.url)/hello"))
                    #expect(reply.status == 200 && reply.delivery == .authenticated, "\(reply)")
                }
            }
            #expect(try await sso.sessions().sessions.map { $0.clockOffset > 200 } == [true])
        }
    }

    @Test(arguments: ClientLibrary.allCases)
    func `a server whose clock is later than the ticket's expiration delivers its refusal`(library: ClientLibrary) async throws {
        try await withTestRealm(Self.options) { realm in
            let sso = try makeExtension(realm, .file, cache: "FILE:\(realm.directory)/cache")
            try await sso.signIn("alice", using: .password(Secret("secret")), options: .init(lifetime: .seconds(3600)))
            try await withProtectedWebServer(realm: realm, .init(clockOffset: .seconds(7200))) { server in
                try await library.withClient(extension: sso) { client in
                    let reply = try await client.send(ClientRequest(url: "\(server.url)/hello"))
                    guard case .refused(let reason) = reply.delivery, reply.status == 401,
                        reason.contains("the server's clock and the KDC's differ too much (Ticket expired)")
                    else {
                        Issue.record("\(reply) is not a refusal that names the server's clock")
                        return
                    }
                }
            }
        }
    }
}

extension KerberosExtension {
    /// Returns the first token for a URL.
    fileprivate func token(for text: String) async throws -> [UInt8] {
        let request = AuthorizationRequest(url: try #require(URL(string: text)))
        guard case .headers(let grant) = try await beginAuthorization(with: request) else { return [] }
        let value = grant.headers[.authorization] ?? ""
        return Data(base64Encoded: String(value.dropFirst("Negotiate ".count))).map { Array($0) } ?? []
    }
}
