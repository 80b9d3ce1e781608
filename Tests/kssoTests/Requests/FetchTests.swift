import Foundation
import KerberosTesting
import Testing

/// `ksso fetch` with the pages of a real Apache.
@Suite(.protectedWeb)
struct FetchTests {
    let station: Workstation
    let server: ProtectedWebServer

    init() throws {
        station = try Workstation()
        server = try #require(WebTrait.server)
        try station.install(profile())
    }

    private var page: String { "\(server.url)/hello" }

    @Test func `ksso fetch prints a protected page`() async throws {
        try await station.signIn()
        #expect(try await station.ksso("fetch", page) == .done("Hello alice@EXAMPLE.TEST\n"))
    }

    @Test func `an open page needs no session`() async throws {
        #expect(try await station.ksso("fetch", "\(server.url)/open") == .done("open\n"))
    }

    @Test func `-v prints what was sent to which host, but no token`() async throws {
        try await station.signIn()
        let result = try await station.ksso("fetch", "-v", page)
        #expect(result.output == "Hello alice@EXAMPLE.TEST\n")
        let lines = result.errors.split(separator: "\n").filter { $0.hasPrefix("> ") || $0.hasPrefix("< ") }
        #expect(
            lines == [
                "> GET \(page), without a token", "< 401 Unauthorized",
                "> GET \(page), with a token of alice@EXAMPLE.TEST for HTTP/localhost@EXAMPLE.TEST", "< 200 OK",
            ],
            "\(result)"
        )
        #expect(!result.errors.contains("Negotiate"))
        #expect(try await station.ksso("fetch", page).errors == "")
    }

    @Test func `a page without a scheme is fetched over https`() async throws {
        let result = try await station.ksso("fetch", "-v", "localhost:\(server.port)/hello")
        #expect(result.exitStatus == 1 && result.errors.contains("> GET https://localhost:\(server.port)/hello, "), "\(result)")
    }

    @Test func `-i prints the response headers before the page`() async throws {
        try await station.signIn()
        let result = try await station.ksso("fetch", "-i", page)
        #expect(result.output.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(result.output.contains("\r\nContent-Type: text/plain\r\n"))
        #expect(result.output.hasSuffix("\r\n\r\nHello alice@EXAMPLE.TEST\n"))
        #expect(result.exitStatus == 0)
    }

    @Test func `-o writes the page to a file`() async throws {
        try await station.signIn()
        let path = "\(station.directory)/page"
        #expect(try await station.ksso("fetch", page, "-o", path) == .done(""))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "Hello alice@EXAMPLE.TEST\n")
        let result = try await station.ksso("fetch", page, "-o", "/nonexistent/page")
        #expect(result == .failure(1, "/nonexistent/page: the file cannot be written (No such file or directory)."))
    }

    @Test func `ksso fetch without a session exits with status 5`() async throws {
        let result = try await station.ksso("fetch", page)
        #expect(result == .failure(5, "not signed in to EXAMPLE.TEST. Sign in with: ksso login"))
    }

    /// An empty or damaged cache would make later commands fail.
    @Test func `a failed sign-in leaves no cache`() async throws {
        try await station.signIn("alice")
        let wrong = try await station.ksso("login", "bob", "--password-stdin", input: "wrong\n")
        #expect(wrong.exitStatus == 1)
        let caches = try? FileManager.default.subpathsOfDirectory(atPath: "\(station.directory)/run/caches")
        #expect((caches ?? []).filter { $0.hasPrefix("tkt") } == [])
        let status = try await station.ksso("status")
        #expect(status.exitStatus == 0)
        #expect(status.errors == "")
        #expect(try await station.ksso("logout").exitStatus == 0)
        #expect(try await station.ksso("fetch", page) == .failure(5, "not signed in to EXAMPLE.TEST. Sign in with: ksso login"))
    }

    @Test func `for a host that no rule covers ksso fetch prints the page and the reason`() async throws {
        try await station.signIn()
        let url = "http://127.0.0.1:\(server.port)/hello"
        let result = try await station.ksso("fetch", url)
        #expect(result.exitStatus == 3)
        #expect(result.output.contains("401 Unauthorized"))
        let reason = "127.0.0.1 is an address, and a service principal requires a host name: use the host's name."
        #expect(result.errors == "ksso: \(url) is not answered: \(reason) See: ksso explain \(url)\n")
        #expect(try await station.ksso("fetch", "http://127.0.0.1:\(server.port)/open") == .done("open\n"))
    }

    @Test func `--fail exits with status 22 for an HTTP error`() async throws {
        let url = "\(server.url)/nowhere"
        #expect(try await station.ksso("fetch", "--fail", url) == .failure(22, "\(url): the server answers 404 Not Found."))
        let plain = try await station.ksso("fetch", url)
        #expect(plain.exitStatus == 0)
        #expect(plain.output.contains("Not Found"))
        #expect(try await station.ksso("fetch", "--fail", "\(server.url)/open") == .done("open\n"))
    }

    @Test func `--fail exits with status 22 for a 401 of a host that no rule covers`() async throws {
        let result = try await station.ksso("fetch", "--fail", "http://127.0.0.1:\(server.port)/hello")
        #expect(result.exitStatus == 22)
        #expect(result.output == "")
        #expect(result.errors.contains("is not answered: "))
    }

    /// The KDC's key is newer than the one in the server's keytab.
    @Test func `a ticket that the server cannot decrypt is reported with likely causes`() async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            try await withProtectedWebServer(realm: realm) { server in
                _ = try await realm.kadmin(["change_password", "-randkey", "HTTP/localhost"])
                let station = try Workstation(realm: realm)
                try station.install(profile())
                try await station.signIn()
                let result = try await station.ksso("fetch", "\(server.url)/hello")
                #expect(result.exitStatus == 0)
                #expect(result.output.contains("401"))
                let beginning = "ksso: \(server.url)/hello: the server refused the ticket: HTTP/localhost@EXAMPLE.TEST: "
                #expect(result.errors.hasPrefix(beginning), "\(result.errors)")
                let end = " The ticket or the server's keytab may be older than the KDC's key, or its clock may be off.\n"
                #expect(result.errors.hasSuffix(end), "\(result.errors)")
                // libgssapi counts the NUL at the end of its text, which would be printed escaped.
                #expect(!result.errors.contains("\\u{0}") && !result.errors.contains("\0"), "\(result.errors)")
                #expect(try await station.ksso("fetch", "--fail", "\(server.url)/hello").exitStatus == 22)
                #expect(try await station.ksso("status", "-q").exitStatus == 0)
            }
        }
    }

    @Test func `with a client keytab ksso fetch needs no sign-in`() async throws {
        let keytab = try await station.realm.keytab(for: "bob")
        let result = try await station.ksso("fetch", page, environment: ["KRB5_CLIENT_KTNAME": "FILE:\(keytab)"])
        #expect(result == .done("Hello bob@EXAMPLE.TEST\n"))
        #expect(try await station.status().sessions.map(\.acquiredBy) == ["keytab"])
    }

    @Test func `a mobileconfig profile for macOS works unchanged`() async throws {
        try FileManager.default.copyItem(
            atPath: repositoryFile("krb5/example.mobileconfig"),
            toPath: "\(station.directory)/example.mobileconfig"
        )
        let environment = ["KSSO_PROFILE": "\(station.directory)/example.mobileconfig", "USER": "nobody"]
        let login = try await station.ksso("login", "--password-stdin", input: "secret\n", environment: environment)
        #expect(login.output.hasPrefix("alice@EXAMPLE.TEST is signed in until "))
        #expect(try await station.ksso("fetch", page, environment: environment) == .done("Hello alice@EXAMPLE.TEST\n"))
    }

    @Test(arguments: [
        ["-H", "no colon"], ["-H", ": empty"], ["-H", "bad name: x"], ["-H", "X: a\r\nInjected: b"], ["-X", "BAD METHOD"], ["-X", ""],
    ])
    func `an invalid header field or method is a usage error`(arguments: [String]) async throws {
        let result = try await station.run(["ksso", "fetch", page] + arguments)
        #expect(result.exitStatus == 64, "\(result)")
        #expect(result.output == "")
        #expect(result.errors.hasPrefix("ksso: \(arguments[0]) requires "), "\(result.errors)")
    }

    @Test func `a missing body file is reported`() async throws {
        let result = try await station.ksso("fetch", page, "-d", "@/nonexistent/body")
        #expect(result == .failure(1, "/nonexistent/body: the file cannot be read."))
    }
}
