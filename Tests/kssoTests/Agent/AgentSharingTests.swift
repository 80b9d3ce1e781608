import Foundation
import KerberosTesting
import Testing

/// The programs of a user, stock programs included, share the tickets of the agent.
@Suite(.protectedWeb, .timeLimit(.minutes(5)))
struct AgentSharingTests {
    let station: Workstation
    let server: ProtectedWebServer

    init() throws {
        station = try Workstation()
        server = try #require(WebTrait.server)
        try station.install(profile())
    }

    private var page: String { "\(server.url)/hello" }

    private func exec(_ command: String..., input: String? = nil) async throws -> CommandResult {
        try await station.run(["ksso", "exec", "--"] + command, input: input)
    }

    @Test func `a ticket whose key type is no longer permitted is replaced`() async throws {
        try await station.signIn()
        let old = try await station.run(["ksso", "exec", "--", "kvno", "-e", "aes128-cts-hmac-sha1-96", "HTTP/localhost"])
        #expect(old.exitStatus == 0, "\(old)")
        let path = try station.write("[libdefaults]\n    permitted_enctypes = aes256-cts-hmac-sha1-96\n", to: "permitted.conf")
        let variables = ["KRB5_CONFIG": "\(path):\(station.realm.configurationPath)"]
        let reply = try await station.ksso("fetch", page, environment: variables)
        #expect(reply == .done("Hello alice@EXAMPLE.TEST\n"), "\(reply)")
    }

    @Test func `every program of the user uses the session of ksso login`() async throws {
        try await station.withAgent { _ in
            let login = try await station.ksso("login", "alice", "--password-stdin", input: "secret\n")
            let cache = "KCM:\(geteuid()):default"
            #expect(login.withoutTimes.output == "alice@EXAMPLE.TEST is signed in until TIME LEFT, in \(cache).\n")
            let note = "klist and curl in this shell use another cache. To share the tickets with this shell: eval \"$(ksso env)\"\n"
            #expect(login.exitStatus == 0 && login.errors == note, "\(login)")
            // Without KRB5CCNAME the shell's krb5.conf decides.
            let again = try await station.run(["env", "-u", "KRB5CCNAME", "ksso", "login", "alice"])
            #expect(again.exitStatus == 0 && again.errors == note, "\(again)")
            let inner = try await exec("ksso", "login", "alice", "--force", "--password-stdin", input: "secret\n")
            #expect(inner.exitStatus == 0 && inner.errors == "", "\(inner)")
            let status = try await station.status()
            #expect(status.agent && status.cacheMode == "agent")
            #expect(status.sessions.map(\.cache) == [cache])
            #expect(try await exec("klist").output.hasPrefix("Ticket cache: \(cache)\nDefault principal: alice@EXAMPLE.TEST\n"))
            #expect(try await exec("kvno", "HTTP/localhost").output == "HTTP/localhost@EXAMPLE.TEST: kvno = 1\n")
            #expect(try await station.status().sessions.first?.services.map(\.service) == ["HTTP/localhost@EXAMPLE.TEST"])
            #expect(try await exec("curl", "-sS", "--negotiate", "-u", ":", page) == .done("Hello alice@EXAMPLE.TEST\n"))
            #expect(try await station.ksso("fetch", page) == .done("Hello alice@EXAMPLE.TEST\n"))
            #expect(try await station.ksso("logout") == .done("alice@EXAMPLE.TEST is signed out.\n"))
            #expect(try await exec("klist", "-s").exitStatus == 1)
            #expect(try await exec("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--negotiate", "-u", ":", page).output == "401")
        }
        // The cache that is used without an agent stays untouched.
        #expect(!FileManager.default.fileExists(atPath: "\(station.directory)/cache"))
    }

    @Test func `ksso uses the session of kinit`() async throws {
        try await station.withAgent { _ in
            #expect(try await exec("kinit", "alice", input: "secret\n").exitStatus == 0)
            let sessions = try await station.status().sessions
            #expect(sessions.map(\.principal) == ["alice@EXAMPLE.TEST"] && sessions.map(\.acquiredBy) == ["other"])
            #expect(try await station.ksso("fetch", page) == .done("Hello alice@EXAMPLE.TEST\n"))
            let logout = try await station.ksso("logout")
            #expect(logout.errors.contains("another program acquired this ticket"))
            #expect(try await exec("kdestroy") == .done(""))
            #expect(try await station.status().sessions == [])
        }
    }

    @Test func `the default principal is used if two principals are signed in`() async throws {
        try await station.withAgent { _ in
            try await station.signIn("alice")
            try await station.signIn("bob")
            let curl = ["ksso", "exec", "--", "curl", "-sS", "--negotiate", "-u", ":", page]
            #expect(try await station.run(curl) == .done("Hello bob@EXAMPLE.TEST\n"))
            #expect(try await station.ksso("switch", "alice") == .done("alice@EXAMPLE.TEST is the default of EXAMPLE.TEST.\n"))
            #expect(try await station.run(curl) == .done("Hello alice@EXAMPLE.TEST\n"))
            #expect(try await exec("kswitch", "-p", "bob") == .done(""))
            #expect(try await station.status().sessions.first { $0.isDefault }?.principal == "bob@EXAMPLE.TEST")
            #expect(try await station.ksso("fetch", page) == .done("Hello bob@EXAMPLE.TEST\n"))
            #expect(try await exec("klist", "-l").output.split(separator: "\n").count == 4)
            #expect(try await station.ksso("logout", "bob") == .done("bob@EXAMPLE.TEST is signed out.\n"))
            #expect(try await station.run(curl) == .done("Hello alice@EXAMPLE.TEST\n"))
        }
    }

    @Test func `the agent and its commands use the profile in KSSO_PROFILE`() async throws {
        let other = try Workstation()
        let variables = ["KSSO_PROFILE": try other.write(profile(), to: "named.yaml")]
        let end = try await other.withAgent(environment: variables) { _ in
            try await other.signIn()
            #expect(try await other.ksso("fetch", page, environment: variables) == .done("Hello alice@EXAMPLE.TEST\n"))
            let curl = ["ksso", "exec", "--", "curl", "-sS", "--negotiate", "-u", ":", page]
            #expect(try await other.run(curl, environment: variables) == .done("Hello alice@EXAMPLE.TEST\n"))
        }
        #expect(end.status == 0 && end.transcript == "", "\(end)")
    }

    /// Only KRB5_CONFIG is set, as `ksso configure session` does.
    @Test func `stock programs need only the agent's krb5.conf to share the tickets`() async throws {
        try await station.withAgent { _ async throws in
            let variables = ["KRB5_CONFIG": "\(station.runtime)/krb5.conf:\(station.realm.configurationPath)"]
            let shell = ["env", "-u", "KRB5CCNAME"]
            #expect(try await station.run(shell + ["kinit", "alice"], input: "secret\n", environment: variables).exitStatus == 0)
            let curl = shell + ["curl", "-sS", "--negotiate", "-u", ":", page]
            #expect(try await station.run(curl, environment: variables) == .done("Hello alice@EXAMPLE.TEST\n"))
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
        }
    }

    @Test func `with --system the tickets stay in the system's default cache`() async throws {
        let end = try await station.withAgent(["--system"]) { _ in
            try await station.signIn()
            let status = try await station.status()
            #expect(status.agent && status.cacheMode == "system")
            #expect(status.sessions.map(\.cache) == [station.cache])
            let agent = try await station.agentStatus()
            #expect(agent.agent && agent.cacheMode == "system" && agent.process.caches == nil)
            let text = try await station.ksso("agent", "status").output
            #expect(text.contains("it renews the tickets in the system's default cache"), "\(text)")
            #expect(try await exec("klist").output.hasPrefix("Ticket cache: \(station.cache)\n"))
            #expect(!FileManager.default.fileExists(atPath: "\(station.runtime)/kcm.sock"))
        }
        #expect(end.status == 0)
        #expect(try await station.ksso("status", "--quiet").exitStatus == 0)
    }
}
