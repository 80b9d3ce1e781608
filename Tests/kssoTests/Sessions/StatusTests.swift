import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso status`: its text, its JSON document and its exit status.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]))
struct StatusTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
    }

    private static let notSignedIn = CommandResult.failure(5, "not signed in. Sign in with: ksso login")

    @Test func `ksso status without a session exits with status 5`() async throws {
        #expect(try await station.ksso("status") == Self.notSignedIn)
        #expect(try await station.ksso("status", "--quiet") == CommandResult(exitStatus: 5, output: "", errors: ""))
        let json = try await station.ksso("status", "--json")
        #expect(json.exitStatus == 5)
        #expect(json.errors == "")
        #expect(try StatusDocument(json: json.output).sessions == [])
    }

    @Test func `ksso status prints the session, its cache and its service tickets`() async throws {
        try await station.signIn()
        #expect(try await station.run(["kvno", "HTTP/localhost"]).exitStatus == 0)
        let text = """
            alice@EXAMPLE.TEST (default): signed in until TIME LEFT
                renewable until TIME LEFT
                in \(station.cache), acquired by ksso with a password
                HTTP/localhost@EXAMPLE.TEST until TIME LEFT

            """
        #expect(try await station.ksso("status").withoutTimes == .done(text))
    }

    @Test(arguments: [("Asia/Kolkata", "+0530"), ("America/Caracas", "-0400"), ("UTC", "+0000")])
    func `status and explain print local times with their offset, and JSON has UTC`(_ zone: String, _ offset: String) async throws {
        try station.install(profile())
        try await station.signIn()
        let json = try await station.ksso("status", "--json", environment: ["TZ": zone])
        let ends = try #require(json.output.firstMatch(of: /"ticketExpires" : "([0-9T:-]*Z)"/)?.output.1)
        let date = try Date(String(ends), strategy: .iso8601)
        let style = Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: try #require(TimeZone(identifier: zone)))
        let text = style.year().month().day().time(includingFractionalSeconds: false).format(date) + " " + offset
        let status = try await station.ksso("status", environment: ["TZ": zone])
        #expect(status.output.hasPrefix("alice@EXAMPLE.TEST (default): signed in until \(text) (9 h left)\n"), "\(status)")
        let explain = try await station.ksso("explain", "http://localhost/", environment: ["TZ": zone])
        #expect(explain.output.contains("in \(station.cache), until \(text) (9 h left).\n"), "\(explain)")
    }

    @Test func `ksso status --json prints the session, its cache and its service tickets`() async throws {
        try await station.signIn()
        #expect(try await station.run(["kvno", "HTTP/localhost"]).exitStatus == 0)
        let result = try await station.ksso("status", "--json")
        #expect(result.exitStatus == 0)
        #expect(result.errors == "")
        let document = try StatusDocument(json: result.output)
        #expect(document.agent == false)
        #expect(document.cacheMode == "system")
        let session = try #require(document.sessions.first)
        let expected = StatusDocument.Session(
            realm: "EXAMPLE.TEST",
            principal: "alice@EXAMPLE.TEST",
            isDefault: true,
            signedIn: true,
            acquiredBy: "password",
            cache: station.cache,
            ticketExpires: session.ticketExpires,
            renewUntil: session.renewUntil,
            passwordExpires: nil,
            services: [.init(service: "HTTP/localhost@EXAMPLE.TEST", expires: session.ticketExpires)]
        )
        #expect(document.sessions == [expected])
        #expect(session.renewUntil != nil)
        #expect(abs(session.ticketExpires.timeIntervalSinceNow - 36_000) < 60)
    }

    @Test func `ksso status --json has every documented key, with null for a missing value`() async throws {
        #expect(try await station.run(["kinit", "-l", "1h", "alice"], input: "secret\n").exitStatus == 0)
        let result = try await station.ksso("status", "--json")
        let document = try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
        #expect(Set(document.keys) == ["agent", "cacheMode", "sessions"])
        let session = try #require((document["sessions"] as? [[String: Any]])?.first)
        let keys: Set = [
            "realm", "principal", "isDefault", "signedIn", "acquiredBy", "cache", "ticketExpires", "renewUntil", "passwordExpires", "site",
            "services", "accountProblem", "homeDirectory",
        ]
        #expect(Set(session.keys) == keys)
        #expect(session["renewUntil"] is NSNull)
        #expect(session["passwordExpires"] is NSNull)
        let expires = try #require(session["ticketExpires"] as? String)
        #expect(expires.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil)
    }

    @Test func `ksso status --quiet prints nothing and reports by its exit status`() async throws {
        try await station.signIn()
        #expect(try await station.ksso("status", "--quiet") == .done(""))
        #expect(try await station.ksso("status", "--quiet", "--valid-for", "10m") == .done(""))
        let tooShort = try await station.ksso("status", "--quiet", "--valid-for", "11h")
        #expect(tooShort == CommandResult(exitStatus: 5, output: "", errors: ""))
        #expect(try await station.ksso("status", "--valid-for", "soon").exitStatus == 64)
    }

    @Test func `ksso status reports an expired ticket and exits with status 5`() async throws {
        let result = try await station.ksso("login", "alice", "--password-stdin", "-q", "--lifetime", "1s", input: "secret\n")
        #expect(result.exitStatus == 0, "\(result.errors)")
        try await eventually { try await station.ksso("status", "-q").exitStatus == 5 }
        let status = try await station.ksso("status").withoutTimes
        #expect(status.output.hasPrefix("alice@EXAMPLE.TEST (default): expired at TIME\n"), "no time is left")
        #expect(status.errors == "ksso: alice@EXAMPLE.TEST: the ticket has expired. Sign in again with: ksso login alice@EXAMPLE.TEST\n")
        #expect(status.exitStatus == 5)
        #expect(try await station.status().sessions.map(\.signedIn) == [false])
        try station.install(profile())
        let expired = CommandResult(exitStatus: 5, output: "", errors: status.errors)
        #expect(try await station.ksso("header", "http://localhost/") == expired)
        #expect(try await station.ksso("refresh") == expired)
    }

    @Test(arguments: [Data("garbage".utf8), Data(), Data([5, 4, 0]), Data([5, 4, 0, 12, 0, 1, 0, 8])])
    func `ksso status ignores a damaged cache and reports that no one is signed in`(content: Data) async throws {
        try content.write(to: URL(fileURLWithPath: "\(station.directory)/cache"))
        let result = try await station.ksso("status")
        #expect(result.exitStatus == 5)
        #expect(result.output == "")
        if !content.isEmpty {
            #expect(result.errors.hasPrefix("ksso: warning: "), "\(result.errors)")
            #expect(result.errors.contains("\(station.directory)/cache"), "\(result.errors)")
        }
        #expect(result.errors.hasSuffix(Self.notSignedIn.errors), "\(result.errors)")
    }

    /// Nothing overwrites the cache, because it may contain tickets that can be recovered.
    @Test func `a truncated cache is reported and never overwritten`() async throws {
        try await station.signIn()
        let path = "\(station.directory)/cache"
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        for length in [10, 40, data.count / 2, data.count - 1] {
            try data.prefix(length).write(to: URL(fileURLWithPath: path))
            let result = try await station.ksso("status")
            #expect(result.exitStatus == 5, "\(length): \(result)")
            #expect(result.output == "")
            #expect(result.errors.hasPrefix("ksso: warning: "), "\(length): \(result.errors)")
            #expect(result.errors.hasSuffix(Self.notSignedIn.errors), "\(result.errors)")
        }
        let login = try await station.ksso("login", "alice", "--password-stdin", input: "secret\n")
        #expect(login.exitStatus == 1)
        #expect(login.errors.contains("the credential cache is damaged"), "\(login.errors)")
        #expect(login.errors.hasSuffix("Remove it with kdestroy -c FILE:\(path), then run: ksso login\n"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == data.dropLast())
        #expect(try await station.run(["kdestroy"]).exitStatus == 0)
        try await station.signIn()
        #expect(try await station.ksso("status", "-q").exitStatus == 0)
    }

    @Test func `ksso status and explain send no requests to the KDC`() async throws {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            let station = try Workstation(realm: realm)
            try await station.signIn()
            try station.install(profile())
            let before = try (realm.received(.initialTicket), realm.received(.serviceTicket))
            #expect(try await station.ksso("status").exitStatus == 0)
            #expect(try await station.ksso("explain", "http://localhost/").exitStatus == 0)
            #expect(try (realm.received(.initialTicket), realm.received(.serviceTicket)) == before)
        }
    }
}
