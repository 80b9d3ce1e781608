import Foundation
import KerberosTesting
import TestSupport
import Testing

/// Stock Kerberos programs use the session of `ksso login`, and share the tickets that they acquire.
@Suite(.protectedWeb)
struct AgentStockProgramTests {
    let station: Workstation
    let server: ProtectedWebServer

    init() throws {
        station = try Workstation()
        server = try #require(WebTrait.server)
        try station.install(profile())
    }

    private func exec(_ command: String..., input: String? = nil) async throws -> CommandResult {
        try await station.run(["ksso", "exec", "--"] + command, input: input)
    }

    @Test func `kinit, klist, kswitch and kdestroy work on the agent's caches`() async throws {
        try await withServingAgent(at: station) {
            try await station.signIn("alice")
            #expect(try await exec("kinit", "bob", input: "secret\n").exitStatus == 0)
            let both = try await exec("klist", "-l").output
            #expect(both.contains("alice@EXAMPLE.TEST") && both.contains("bob@EXAMPLE.TEST"), "\(both)")
            #expect(try await exec("kswitch", "-p", "alice").exitStatus == 0)
            let list = try await exec("klist").output
            #expect(
                list.hasPrefix("Ticket cache: KCM:\(geteuid())") && list.contains("\nDefault principal: alice@EXAMPLE.TEST\n"),
                "\(list)"
            )
            let sessions = try await station.status().sessions
            #expect(Set(sessions.map(\.principal)) == ["alice@EXAMPLE.TEST", "bob@EXAMPLE.TEST"])
            #expect(sessions.filter(\.isDefault).map(\.principal) == ["alice@EXAMPLE.TEST"])
            #expect(try await exec("kdestroy").exitStatus == 0)
            #expect(try await station.status().sessions.map(\.principal) == ["bob@EXAMPLE.TEST"])
            #expect(try await exec("kdestroy", "-A").exitStatus == 0)
            #expect(try await exec("klist", "-s").exitStatus == 1)
        }
    }

    @Test func `kvno, curl and ksso fetch share their service tickets`() async throws {
        try await withServingAgent(at: station) {
            try await station.signIn()
            #expect(try await exec("kvno", "HTTP/localhost").exitStatus == 0)
            let page = try await exec("curl", "-sS", "--negotiate", "-u", ":", "\(server.url)/hello")
            #expect(page == .done("Hello alice@EXAMPLE.TEST\n"))
            #expect(try await station.ksso("fetch", "\(server.url)/hello") == .done("Hello alice@EXAMPLE.TEST\n"))
            #expect(try await station.status().sessions.first?.services.map(\.service) == ["HTTP/localhost@EXAMPLE.TEST"])
            let status = try await station.ksso("agent", "status").output
            #expect(status.contains(" tickets in 1 credential cache\n"), "\(status)")
        }
    }

    /// The content of the protected page is a repository's list of branches.
    @Test(.enabled(if: StockProgram.isInstalled("git"), "git is missing: package git"))
    func `git lists the branches of a protected repository`() async throws {
        let commit = String(repeating: "0123456789", count: 4)
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            try await withProtectedWebServer(realm: realm) { server in
                let station = try Workstation(realm: realm)
                try station.install(profile())
                try "\(commit)\trefs/heads/main\n".write(toFile: "\(server.directory)/pages/hello", atomically: true, encoding: .utf8)
                // git appends /info/refs, which becomes part of the query.
                // Without emptyAuth, git prompts for a user name.
                let list = ["git", "-c", "http.emptyAuth=true", "ls-remote", "\(server.url)/hello?of="]
                let environment = ["GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"]
                try await withServingAgent(at: station) {
                    #expect(try await station.run(["ksso", "exec", "--"] + list, environment: environment).exitStatus != 0)
                    try await station.signIn()
                    let result = try await station.run(["ksso", "exec", "--"] + list, environment: environment)
                    #expect(result == .done("\(commit)\trefs/heads/main\n"))
                }
            }
        }
    }

    @Test(.enabled(if: StockProgram.heimdalTools != nil, "Heimdal's tools are missing: Scripts/install-packages unpacks them"))
    func `a Heimdal program uses the tickets through ksso exec --file`() async throws {
        let tools = try #require(StockProgram.heimdalTools)
        let kgetcred = URL(fileURLWithPath: tools.path).deletingLastPathComponent().appending(path: "kgetcred").path
        let help = try await station.ksso("exec", "--help").output
        #expect(help.contains("kgetcred") && help.contains("--file"))
        let settings = """
            [libdefaults]
                default_realm = EXAMPLE.TEST
            [realms]
                EXAMPLE.TEST = {
                    kdc = tcp/127.0.0.1:\(station.realm.kdcPort)
                }

            """
        let variables = tools.variables.map { "\($0)=\($1)" } + ["KRB5_CONFIG=\(try station.write(settings, to: "heimdal.conf"))"]
        try await withServingAgent(at: station) {
            try await station.signIn("alice")
            let result = try await station.run(
                ["ksso", "exec", "--file", "--", "env"] + variables + [kgetcred, "HTTP/localhost@EXAMPLE.TEST"]
            )
            #expect(result == .done(""))
        }
    }

    /// Heimdal's programs look for the cache socket at one fixed path, so the child process gets the agent's socket mounted there.
    @Test(
        .enabled(if: StockProgram.heimdalTools != nil, "Heimdal's tools are missing: Scripts/install-packages unpacks them"),
        .enabled(if: PrivateMounts.arePossible, Comment(rawValue: PrivateMounts.reason))
    )
    func `Heimdal programs share the tickets through the agent's cache socket`() async throws {
        let tools = try #require(StockProgram.heimdalTools)
        let settings = """
            [libdefaults]
                default_realm = EXAMPLE.TEST
                dns_lookup_kdc = false
            [realms]
                EXAMPLE.TEST = {
                    kdc = tcp/127.0.0.1:\(station.realm.kdcPort)
                }

            """
        let environment = tools.variables.merging(
            ["KRB5_CONFIG": try station.write(settings, to: "heimdal.conf"), "KRB5CCNAME": "KCM:"]
        ) { $1 }
        // heimtools selects the tool by the name that it is called by.
        for name in ["klist", "kswitch"] {
            try FileManager.default.createSymbolicLink(atPath: "\(station.directory)/\(name)", withDestinationPath: tools.path)
        }
        let folder = URL(fileURLWithPath: tools.path).deletingLastPathComponent().path
        let script = """
            mount -t tmpfs none /run
            : >/run/.heim_org.h5l.kcm-socket
            mount --bind "$KSSO_RUNTIME_DIR/kcm.sock" /run/.heim_org.h5l.kcm-socket
            exec "$@"
            """
        func heimdal(_ program: String, _ arguments: String...) async throws -> CommandResult {
            try await station.run(PrivateMounts.command(script, [program] + arguments), environment: environment)
        }
        let password = try station.write("secret\n", to: "password")
        try await withServingAgent(at: station) {
            try await station.signIn("alice")
            let list = try await heimdal("\(station.directory)/klist")
            #expect(list.output.contains("Principal: alice@EXAMPLE.TEST\n"), "\(list)")
            #expect(try await heimdal("\(folder)/kgetcred", "HTTP/localhost@EXAMPLE.TEST") == .done(""))
            #expect(try await station.status().sessions.first?.services.map(\.service) == ["HTTP/localhost@EXAMPLE.TEST"])
            #expect(try await heimdal("\(folder)/kinit.heimdal", "--password-file=\(password)", "bob").exitStatus == 0)
            let both = try await exec("klist", "-l").output
            #expect(both.contains("alice@EXAMPLE.TEST") && both.contains("bob@EXAMPLE.TEST"), "\(both)")
            #expect(try await heimdal("\(station.directory)/kswitch", "-p", "bob@EXAMPLE.TEST").exitStatus == 0)
            #expect(try await exec("klist").output.contains("Default principal: bob@EXAMPLE.TEST"))
            #expect(try await heimdal("\(folder)/kdestroy.heimdal").exitStatus == 0)
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
        }
    }
}
