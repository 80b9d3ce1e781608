import Foundation
import KerberosTesting
import Testing

/// ksso never prints passwords or tokens, and only the user can read the tickets.
@Suite(.protectedWeb)
struct SecrecyTests {
    let station: Workstation
    let server: ProtectedWebServer

    init() throws {
        station = try Workstation()
        server = try #require(WebTrait.server)
        try station.install(profile())
    }

    @Test func `verbose output and libkrb5's trace contain no password and no token`() async throws {
        try await station.realm.addUser("trent", password: "very-secret-word")
        let login = try await station.ksso("login", "trent", "--password-stdin", "--verbose", "--verbose", input: "very-secret-word\n")
        #expect(login.exitStatus == 0)
        #expect(login.errors.contains("krb5: "))
        #expect(login.errors.contains("Sending request"))
        #expect(!(login.output + login.errors).contains("very-secret-word"))

        let fetch = try await station.ksso("fetch", "-vv", "\(server.url)/hello")
        #expect(fetch.output == "Hello trent@EXAMPLE.TEST\n")
        #expect(fetch.errors.contains("krb5: "))
        #expect(!fetch.errors.contains("YII"))
        #expect(!fetch.errors.contains("Negotiate "))
    }

    @Test func `a failed sign-in does not print the password`() async throws {
        for verbosity in [[], ["--verbose"], ["-vv"]] {
            let command = ["ksso", "login", "nobody", "--password-stdin"] + verbosity
            let result = try await station.run(command, input: "not-to-be-shown\n")
            #expect(!(result.output + result.errors).contains("not-to-be-shown"))
        }
    }

    /// The user information can contain a password.
    @Test func `an error about an invalid URL does not print its user information`() async throws {
        let result = try await station.ksso("explain", "https://user:pass-word@exam\\ple.com/")
        #expect(result.exitStatus == 64)
        #expect(!result.errors.contains("pass-word"))
    }

    @Test(arguments: [
        ["fetch"], ["fetch", "--fail"], ["fetch", "-vv"], ["header"], ["header", "-vv"], ["explain"], ["explain", "--json"],
    ])
    func `no command prints the user information of a URL`(command: [String]) async throws {
        let places = [
            "localhost:\(server.port)/hello", "localhost:\(server.port)/nowhere", "127.0.0.1:\(server.port)/hello", "localhost:1/",
            "other.test.invalid/",
        ]
        for isSignedIn in [false, true] {
            if isSignedIn { try await station.signIn() }
            for place in places {
                let result = try await station.run(["ksso"] + command + ["http://mallory:pass-word@\(place)"])
                #expect(!(result.output + result.errors).contains("pass-word"), "\(place): \(result)")
            }
        }
    }

    @Test func `only the user can read the caches and their folder`() async throws {
        try await station.signIn("alice")
        try await station.signIn("bob")
        for path in try await station.status().sessions.map(\.cache) {
            let file = path.drop { $0 != "/" }
            let mode = try FileManager.default.attributesOfItem(atPath: String(file))[.posixPermissions] as? NSNumber
            #expect(mode?.intValue == 0o600, "\(path)")
        }
        let folder = try FileManager.default.attributesOfItem(atPath: "\(station.directory)/run/caches")
        #expect((folder[.posixPermissions] as? NSNumber)?.intValue == 0o700)
    }

    @Test func `a runtime folder that other users can enter is not used for tickets`() async throws {
        let run = "\(station.directory)/run"
        try FileManager.default.createDirectory(
            atPath: "\(run)/caches",
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o777]
        )
        for path in [run, "\(run)/caches"] { try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: path) }
        #expect(try await station.ksso("login", "alice", "--password-stdin", input: "secret\n").exitStatus == 0)
        let result = try await station.ksso("login", "bob", "--password-stdin", input: "secret\n")
        #expect(result.exitStatus == 1)
        #expect(result.errors.contains("a second sign-in would overwrite"), "\(result.errors)")
        #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
        #expect(try await station.ksso("env").exitStatus == 1)
    }
}
