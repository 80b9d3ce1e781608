import Foundation
import KerberosTesting
import KerberosTestingTraits
import SignOnDiagnosis
import TestSupport
import Testing

/// A running agent enforces its profile's rules on which programs of its user, and which other users, may use the tickets.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]), .timeLimit(.minutes(2)))
struct AgentAccessTests {
    let station: Workstation

    init() throws { station = try Workstation() }

    /// The executable file that a program's name resolves to.
    private func file(of program: String) throws -> String {
        URL(filePath: try Program.path(of: program)).resolvingSymlinksInPath().path
    }

    private func exec(_ command: String...) async throws -> CommandResult {
        try await station.run(["ksso", "exec", "--"] + command, environment: ["LC_ALL": "C"])
    }

    /// The agent's reply to `authorize` for a URL: the HTTP status and the JSON document.
    private func authorize(_ url: String, as user: UInt32? = nil) async throws -> (status: String, body: String) {
        try await curl(["--data", #"{"url": "\#(url)"}"#, "http://ksso/v1/authorize"], as: user)
    }

    private func curl(_ words: [String], as user: UInt32? = nil) async throws -> (status: String, body: String) {
        let identity = user.map { ["setpriv", "--reuid=\($0)", "--regid=\($0)", "--clear-groups"] } ?? []
        let options = ["--silent", "--max-time", "120", "--unix-socket", "\(station.runtime)/agent.sock", "--write-out", "\n%{http_code}"]
        let lines = try await station.run(identity + ["curl"] + options + words).output.components(separatedBy: "\n")
        return (lines.last ?? "", lines.dropLast().joined(separator: "\n"))
    }

    @Test func `the agent refuses programs that credentialBundleIdACL does not list`() async throws {
        let (kvno, klist) = (try file(of: "kvno"), try file(of: "klist"))
        try station.install(profile(data: ["credentialBundleIdACL: [com.apple.Safari, \(kvno)]"]))
        try await station.withAgent { _ async throws in
            // The agent's own program may always use the tickets.
            try await station.signIn()
            #expect(try await exec("kvno", "HTTP/localhost").output == "HTTP/localhost@EXAMPLE.TEST: kvno = 1\n")
            #expect(
                try await exec("klist")
                    == CommandResult(
                        exitStatus: 1,
                        output: "",
                        errors: "klist: Permission denied while resolving ccache\n"
                    ),
                "\(klist)"
            )
            #expect(try await exec("klist", "-s").exitStatus == 1)
            let refused = try await authorize("http://localhost/")
            #expect(refused.status == "403", "\(refused)")
            #expect(refused.body.contains("credentialBundleIdACL does not list /usr/bin/curl (process "), "\(refused)")
            let diagnosis = try await exec("ksso", "doctor").output
            let access = "! visibility: klist, curl and other programs use the same cache, which the profiles open only to ksso, \(kvno).\n"
            #expect(diagnosis.contains(access), "\(diagnosis)")
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
        }
    }

    @Test(arguments: [false, true])
    func `a list for Macs permits every program, or none with CredentialBundleIdACLMode strict`(isStrict: Bool) async throws {
        let mode = isStrict ? "CredentialBundleIdACLMode: strict\n" : ""
        try station.install(mode + profile(data: ["credentialBundleIdACL: [com.apple.Safari]"]))
        try await station.withAgent { _ async throws in
            try await station.signIn()
            #expect(try await authorize("http://localhost/").status == (isStrict ? "403" : "200"))
            #expect(try await exec("klist", "-s").exitStatus == (isStrict ? 1 : 0))
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
        }
    }

    @Test func `without an agent the doctor warns that no list of programs is applied`() async throws {
        try station.install("CredentialBundleIdACLMode: strict\n" + profile(data: ["credentialBundleIdACL: [com.apple.Safari]"]))
        try await station.signIn()
        let result = try await station.doctor()
        let check = result.checks.first { $0.name == "visibility" }
        let sentence =
            "klist, curl and other programs use the same cache. The profiles open the tickets only to ksso, but only the agent applies this."
        #expect(check?.verdict == .warning && check?.detail == sentence && check?.remedy == "Start the agent: ksso setup", "\(result)")
    }

    @Test func `the agent API serves programs that credentialBundleIdACL lists`() async throws {
        let allowed = [try file(of: "curl"), try file(of: "klist")]
        try station.install(profile(data: ["credentialBundleIdACL: [\(allowed.joined(separator: ", "))]"]))
        try await station.withAgent { _ async throws in
            try await station.signIn()
            let reply = try await authorize("http://localhost/")
            #expect(reply.status == "200" && reply.body.contains("alice@EXAMPLE.TEST"), "\(reply)")
            #expect(try await exec("klist").output.contains("Default principal: alice@EXAMPLE.TEST"))
            #expect(try await exec("kvno", "HTTP/localhost").errors.contains("Permission denied"))
        }
    }

    /// The rule matches a numeric user ID, so 12345 needs no account. The files are open to every user, so that only the agent decides.
    @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
    func `another user gets tokens only for the hosts that AllowedPeers grants`() async throws {
        let rules = profile(hosts: ["localhost", "other.example.test"])
        try station.install(rules + "\nAllowedPeers: {'uid:12345': [localhost]}\n")
        try await station.withAgent { _ async throws in
            try await station.signIn()
            for path in [station.realm.directory, station.directory, station.runtime] { #expect(chmod(path, 0o711) == 0) }
            for name in ["agent.sock", "kcm.sock"] { #expect(chmod("\(station.runtime)/\(name)", 0o666) == 0) }

            let allowed = try await authorize("http://localhost/", as: 12345)
            #expect(allowed.status == "200" && allowed.body.contains("Negotiate "), "\(allowed)")
            let other = try await authorize("http://other.example.test/", as: 12345)
            #expect(other.status == "403" && other.body.contains("AllowedPeers"), "\(other)")
            let gateway = "http://ksso/v1/auth-request"
            #expect(try await curl(["--header", "X-Original-URL: http://localhost/", gateway], as: 12345).status == "200")
            #expect(try await curl(["--header", "X-Original-URL: http://other.example.test/", gateway], as: 12345).status == "403")
            for path in ["status", "events", "explain?url=http://localhost/"] {
                #expect(try await curl(["http://ksso/v1/\(path)"], as: 12345).status == "403", "\(path)")
            }
            for path in ["login", "refresh", "logout", "identity", "stop"] {
                #expect(try await curl(["--data", "{}", "http://ksso/v1/\(path)"], as: 12345).status == "403", "\(path)")
            }
            // The agent closes the connection of a user that AllowedPeers does not list.
            #expect(try await authorize("http://localhost/", as: 12346).status == "000")
            try await expectNoCaches(as: 12345)
            // The commands of the agent's own user use the sockets only in a folder that other users cannot open.
            #expect(chmod(station.runtime, 0o700) == 0)
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
        }
    }

    private func expectNoCaches(as user: UInt32) async throws {
        let path = try station.write(
            "[libdefaults]\n    kcm_socket = \(station.runtime)/kcm.sock\n    default_ccache_name = KCM:\n",
            to: "stranger.conf"
        )
        #expect(chmod(path, 0o644) == 0)
        let identity = ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups"]
        let words = identity + ["env", "-i", "PATH=/usr/bin:/bin", "LC_ALL=C", "KRB5_CONFIG=\(path)", "klist"]
        #expect(try await station.run(words).errors == "klist: Permission denied while resolving ccache\n")
    }
}
