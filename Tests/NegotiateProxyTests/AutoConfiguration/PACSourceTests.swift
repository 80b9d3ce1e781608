import Foundation
import KerberosTesting
import KerberosTestingTraits
import NIOSSL
import Synchronization
import TestSupport
import Testing

@testable import NegotiateProxy

/// PAC files from web servers.
@Suite(.testRealm(users: ["alice": "secret"]))
struct PACSourceTests {
    private let clock = ManualClock()

    private func source(_ url: String, limit: Duration = .seconds(20), trust: NIOSSLTrustRoots? = nil) throws -> PACSource {
        PACSource(try PACLocation(url), download: PACDownload(limit: limit, trustRoots: trust)) { [clock] in clock.instant }
    }

    private func url(_ server: ScriptedServer, _ path: String = "/proxy.pac", scheme: String = "http") -> String {
        "\(scheme)://127.0.0.1:\(server.port)\(path)"
    }

    /// The script, or the message of the error.
    private func result(_ source: PACSource) async -> String {
        do throws(RoutingError) {
            return try await source.script().text
        } catch {
            return error.message
        }
    }

    @Test func `a file is fetched once without credentials`() async throws {
        try await ScriptedServer.run({ _ in
            .response(200, body: "var \u{E4};")
        }) { server in
            let source = try source(url(server, "/proxy.pac?a=b"))
            for _ in 0..<3 { #expect(await result(source) == "var \\u00e4;") }
            #expect(server.requests.map(\.target) == ["/proxy.pac?a=b"])
            let request = server.requests[0]
            #expect(request.field("Host") == "127.0.0.1:\(server.port)" && request.field("Authorization") == nil)
            #expect(await source.lastFailure == nil)
        }
    }

    @Test func `redirects with the same scheme are followed`() async throws {
        try await ScriptedServer.run({ request in
            switch request.target {
            case "/proxy.pac": .redirect(302, to: "/b/c")
            case "/b/c": .redirect(307, to: "http://127.0.0.1:\(request.port)/b/d?e")
            default: .response(200, body: request.target)
            }
        }) { server in
            let source = try source(url(server))
            #expect(await result(source) == "/b/d?e")
        }
    }

    @Test(arguments: ["https://127.0.0.1/", "file:///etc/passwd", "ftp://127.0.0.1/", "http://user@127.0.0.1/", ""])
    func `a redirect to another scheme is an error`(location: String) async throws {
        try await ScriptedServer.run({ _ in
            .redirect(301, to: location)
        }) { server in
            let message = await result(try source(url(server)))
            #expect(message.hasPrefix("The PAC file \(url(server)) redirects"), "\(message)")
        }
    }

    static let faultyReplies: [(ScriptedServer.Reply, String)] = [
        (ScriptedServer.Reply.redirect(302, to: "/proxy.pac"), "redirects more than 5 times"), (.response(404), "replied with status 404"),
        (.response(200, body: " "), "is empty"), (.response(204), "replied with status 204"),
        (.response(200, body: String(repeating: "a", count: 1 << 20 + 1)), "is larger than 1 MiB"),
        (.raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nvar a;"), "cannot be read"), (.raw("SSH-2.0\r\n\r\n"), "is not valid HTTP"),
        (.drop, "cannot be read"),
    ]

    @Test(arguments: faultyReplies)
    func `a reply without a script is an error that names the file`(reply: ScriptedServer.Reply, problem: String) async throws {
        try await ScriptedServer.run({ _ in
            reply
        }) { server in
            let message = await result(try source(url(server)))
            #expect(message.hasPrefix("The PAC file \(url(server)) ") && message.contains(problem) && message.hasSuffix("."), "\(message)")
        }
    }

    @Test(arguments: [ScriptedServer.Reply.silence, .partial("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nvar a;")])
    func `a server that does not finish is an error after the time limit`(reply: ScriptedServer.Reply) async throws {
        try await ScriptedServer.run({ _ in
            reply
        }) { server in
            let message = await result(try source(url(server), limit: .seconds(1)))
            #expect(message.hasPrefix("The PAC file \(url(server)) c"), "\(message)")
        }
    }

    @Test func `a server that is not there is an error`() async throws {
        let message = await result(try source("http://127.0.0.1:1/proxy.pac"))
        #expect(message.hasPrefix("The PAC file http://127.0.0.1:1/proxy.pac cannot be read ("), "\(message)")
        let unknown = await result(try source("http://no-such-name.invalid/proxy.pac"))
        #expect(unknown.contains("cannot be resolved"), "\(unknown)")
    }

    @Test func `a failed attempt is repeated after the retry time`() async throws {
        let isUp = Mutex(false)
        try await ScriptedServer.run({ _ in
            isUp.withLock { $0 } ? .response(200, body: "var a;") : .response(503)
        }) { server in
            let source = try source(url(server))
            for _ in 0..<3 { #expect(await result(source).contains("status 503")) }
            #expect(server.requests.count == 1)
            isUp.withLock { $0 = true }
            clock.advance(by: 11)
            #expect(await result(source) == "var a;")
        }
    }

    @Test func `an old script is fetched again and stays in use until then`() async throws {
        let body = Mutex("var a;")
        try await ScriptedServer.run({ _ in
            .response(200, body: body.withLock { $0 })
        }) { server in
            let source = try source(url(server))
            #expect(await result(source) == "var a;")
            body.withLock { $0 = "var b;" }
            clock.advance(by: 14 * 60)
            #expect(await result(source) == "var a;" && server.requests.count == 1)
            clock.advance(by: 2 * 60)
            #expect(await result(source) == "var a;")
            try await eventually { await result(source) == "var b;" }
            #expect(server.requests.count == 2)
        }
    }

    @Test func `a script stays in use while its server fails`() async throws {
        let isUp = Mutex(true)
        try await ScriptedServer.run({ _ in
            isUp.withLock { $0 } ? .response(200, body: "var a;") : .response(503)
        }) { server in
            let source = try source(url(server))
            #expect(await result(source) == "var a;")
            isUp.withLock { $0 = false }
            clock.advance(by: 16 * 60)
            #expect(await result(source) == "var a;")
            try await eventually { await source.lastFailure != nil }
            #expect(await result(source) == "var a;" && server.requests.count == 2)
            isUp.withLock { $0 = true }
            clock.advance(by: 11)
            _ = await result(source)
            try await eventually { await source.lastFailure == nil }
        }
    }

    @Test func `a script whose evaluation failed is fetched again`() async throws {
        let body = Mutex("var a;")
        try await ScriptedServer.run({ _ in
            .response(200, body: body.withLock { $0 })
        }) { server in
            let source = try source(url(server))
            let first = try await source.script()
            await source.evaluationFailed(of: first)
            #expect(await result(source) == "var a;" && server.requests.count == 1)
            body.withLock { $0 = "var b;" }
            clock.advance(by: 11)
            #expect(await result(source) == "var b;")
            // A failure of the former script does not concern the new one.
            await source.evaluationFailed(of: first)
            clock.advance(by: 11)
            #expect(await result(source) == "var b;" && server.requests.count == 2)
        }
    }

    @Test func `the certificate of a server is verified`() async throws {
        let realm = try #require(TestRealm.current)
        let identity = try await realm.makeServerIdentity(host: "localhost")
        let trust = NIOSSLTrustRoots.certificates(try NIOSSLCertificate.fromPEMFile(identity.certificatePath))
        try await ScriptedServer.run({ _ in .response(200, body: "var a;") }, identities: [identity]) { server in
            let location = "https://localhost:\(server.port)/proxy.pac"
            let trusting = try source(location, trust: trust)
            #expect(await result(trusting) == "var a;")
            let message = await result(try source(location))
            #expect(message.hasPrefix("The PAC file \(location) cannot be read (TLS failed"), "\(message)")
            let other = await result(try source(url(server, scheme: "https"), trust: trust))
            #expect(other.contains("TLS failed"), "\(other)")
        }
    }
}
