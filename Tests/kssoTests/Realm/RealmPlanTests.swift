import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso realm run` with a plan, and the commands that change a running realm.
@Suite(.testRealm(), .timeLimit(.minutes(5)))
struct RealmPlanTests {
    let station: Workstation
    let folder: RealmFolder

    init() throws {
        station = try Workstation()
        folder = try RealmFolder()
    }

    private func run(_ arguments: [String], script: String) async throws -> CommandResult {
        try await folder.run(arguments, script: script, on: station)
    }

    private func plan(_ yaml: String) throws -> String { try station.write(yaml, to: "realm.yaml") }

    /// The plan on the documentation page AnyLanguage.
    private func documentedPlan() throws -> String {
        let page = repositoryFile("Sources/KerberosTesting/KerberosTesting.docc/AnyLanguage.md")
        let lines = try String(contentsOfFile: page, encoding: .utf8).components(separatedBy: "\n")
        let yaml = lines.drop { $0 != "```yaml" }.dropFirst().prefix { $0 != "```" }
        try #require(!yaml.isEmpty)
        return try plan(yaml.joined(separator: "\n") + "\n")
    }

    @Test func `the plan in the documentation works as described`() async throws {
        let script = """
            echo alice-secret | ksso login alice --password-stdin --quiet
            kvno -q HTTP/web.b.test@B.TEST HTTP/old.test
            curl -sS --cacert "$KSSO_REALM_CERTIFICATE" --negotiate -u : "$KSSO_REALM_URL/hello"
            [ "$KSSO_REALM_URL" = "$KSSO_REALM_URL_INTRANET" ]
            curl -sS --resolve "${KSSO_REALM_URL_PARTNER#http://}:127.0.0.1" --negotiate -u : "$KSSO_REALM_URL_PARTNER/hello"
            klist -e -k "$KRB5_KTNAME" | grep -A0 old.test
            echo Bob-secret-1 | ksso login bob --password-stdin || echo "bob $?"
            echo carol-secret | ksso login carol --password-stdin || echo "carol $?"
            kadmin.local -r A.TEST get_policy strict | grep -E 'length|classes|history'
            grep -c 'kdc = 127' "$KRB5_CONFIG"
            """
        let result = try await run(["--file", try documentedPlan()], script: script)
        #expect(result.exitStatus == 0, "\(result)")
        #expect(result.output.contains("Hello alice@A.TEST\nHello alice@A.TEST\n"), "the second server is in the trusted realm")
        #expect(result.output.contains("HTTP/old.test@A.TEST (aes128-cts-hmac-sha1-96)"))
        #expect(result.output.contains("bob 1\n") && result.errors.contains("bob@A.TEST: the password has expired"))
        #expect(result.output.contains("carol 1\n") && result.errors.contains("carol@A.TEST: the account is locked, disabled or expired"))
        #expect(result.output.contains("Minimum password length: 8\n"))
        // Two KDCs of one realm and one of the other.
        #expect(result.output.hasSuffix("\n3\n"), "\(result.output)")
    }

    @Test func `ksso realm fault starts and stops faults of the KDC`() async throws {
        let script = """
            try() { status=0; echo secret | ksso login alice --force --password-stdin -q 2>/dev/null || status=$?; echo "$1 $status"; }
            try refused
            ksso realm fault pass
            try passed
            ksso realm fault error=18 --next 1
            try locked
            try unlocked
            ksso realm fault black-hole --udp
            ksso realm fault pass --tcp
            try tcp
            """
        let result = try await run(["--user", "alice:secret", "--fault", "refuse"], script: script)
        #expect(result == .done("refused 6\npassed 0\nlocked 1\nunlocked 0\ntcp 0\n"))
    }

    @Test func `ksso realm kdc stops and starts single KDCs`() async throws {
        let script = """
            try() { status=0; echo secret | ksso login alice --force --password-stdin -q 2>/dev/null || status=$?; echo "$1 $status"; }
            ksso realm kdc stop
            try second
            ksso realm kdc stop --number 2
            try none
            ksso realm kdc start
            try first
            ksso realm kdc stop --number 3 || echo "third $?"
            """
        let result = try await run(["--user", "alice:secret", "--kdcs", "2"], script: script)
        #expect(result.output == "second 0\nnone 6\nfirst 0\nthird 1\n", "\(result)")
        #expect(result.errors == "ksso: EXAMPLE.TEST has no KDC 3: it has 2 KDCs, counted from 1.\n")
    }

    @Test func `ksso realm clock sets the clock of the KDC`() async throws {
        let look = "ksso doctor EXAMPLE.TEST | grep clock: || true"
        let result = try await run(
            ["--user", "alice:secret", "--clock", "-20m"],
            script: "\(look); ksso realm clock -10m; \(look); ksso realm clock +10m; \(look)"
        )
        let offsets = result.output.matches(of: /(\d+) s (behind|ahead)/).map { ($0.2 == "ahead" ? 1 : -1) * (Int($0.1) ?? 0) }
        #expect(offsets.count == 3, "\(result)")
        // The answer of the KDC is older when it is read, by seconds on a busy machine.
        for (offset, expected) in zip(offsets, [-1200, -600, 600]) { #expect(abs(offset - expected) <= 30, "\(result)") }
    }

    @Test(arguments: ["apache", "acceptor"], [true, false])
    func `a plan starts each kind of web server, with and without TLS`(server: String, usesTLS: Bool) async throws {
        let path = try plan("realms: [{name: A.TEST, users: {alice: secret}}]\nweb: [{server: \(server), tls: \(usesTLS)}]\n")
        let script = """
            echo secret | kinit alice >/dev/null
            curl -sS ${KSSO_REALM_CERTIFICATE:+--cacert "$KSSO_REALM_CERTIFICATE"} --negotiate -u : "$KSSO_REALM_URL/hello"; echo
            echo "${KSSO_REALM_URL%%:*}"
            """
        let result = try await run(["--file", path], script: script)
        let lines = result.output.split(separator: "\n")
        #expect(lines == ["Hello alice@A.TEST"[...], usesTLS ? "https" : "http"], "\(result)")
    }

    @Test func `--keytab writes the service keys of all realms, or fails if there are none`() async throws {
        let keytab = try station.write("precious", to: "all.keytab")
        let nothing = try await run(
            ["--file", try plan("realms: [{name: A.TEST, users: {alice: x}}]\n"), "--keytab", keytab],
            script: "true"
        )
        #expect(nothing.exitStatus == 1 && nothing.errors.contains("no realm has a service with a key"), "\(nothing)")
        #expect(try String(contentsOfFile: keytab, encoding: .utf8) == "precious")
        let realms = ["--realm", "A.TEST", "--realm", "B.TEST", "--service", "HTTP/a", "--service", "HTTP/b@B.TEST", "--keytab", keytab]
        let result = try await run(realms, script: "klist -k '\(keytab)'")
        #expect(result.output.contains("HTTP/a@A.TEST") && result.output.contains("HTTP/b@B.TEST"), "\(result)")
    }

    /// A supervisor sends the signal to this process only.
    @Test func `ksso realm run forwards a signal to its command`() async throws {
        let script =
            "coproc RUN { exec ksso realm run -- sh -c 'echo ready; exec sleep 600'; }; p=$RUN_PID; read -r line <&\"${RUN[0]}\"; "
            + "kill -TERM $p; wait $p; echo $?"
        let result = try await station.run(["bash", "-c", script], environment: folder.environment)
        #expect(result.output == "143\n", "\(result)")
        #expect(try folder.contents == [])
        #expect(visibleArguments(of: folder.path) == [], "the command still runs")
    }

    /// A client that connects and sends nothing neither blocks other clients nor stops the realm.
    @Test func `idle connections to the control socket do not block a command`() async throws {
        let silent =
            "import os,socket; d,n=os.path.split(os.environ['KSSO_REALM_CONTROL']); os.chdir(d); s=[socket.socket(socket.AF_UNIX) "
            + "for _ in range(3)]; [c.connect(n) for c in s]; print('there', flush=True); s[0].recv(1)"
        let script = """
            coproc SILENT { exec python3 -c "\(silent)"; }
            read -r line <&"${SILENT[0]}"
            timeout 30 ksso realm clock 0
            exit 7
            """
        let result = try await run(["--user", "alice:secret"], script: script)
        #expect(result.exitStatus == 7, "\(result)")
    }

    @Test func `flags can define several realms and a trust between them`() async throws {
        let arguments = ["--realm", "A.TEST", "--realm", "B.TEST", "--trust", "A.TEST->B.TEST", "--user", "alice:secret"]
        let more = ["--user", "bob@B.TEST:other", "--service", "HTTP/web.b.test@B.TEST"]
        let script = """
            echo secret | kinit alice >/dev/null && kvno HTTP/web.b.test@B.TEST
            echo other | kinit bob@B.TEST >/dev/null && kvno -q krbtgt/A.TEST@B.TEST 2>/dev/null || echo one way
            """
        let result = try await run(arguments + more, script: script)
        #expect(result == .done("HTTP/web.b.test@B.TEST: kvno = 1\none way\n"))
    }

    @Test func `--fast makes the KDC require FAST armor`() async throws {
        let script = """
            echo secret | ksso login alice --password-stdin || echo $?
            kinit -k -t KDB: -c FILE:"$KSSO_RUNTIME_DIR.armor" krbtgt/EXAMPLE.TEST@EXAMPLE.TEST
            echo secret | ksso login alice --password-stdin -q --armor-cache FILE:"$KSSO_RUNTIME_DIR.armor"
            """
        let result = try await run(["--user", "alice:secret", "--fast"], script: script)
        #expect(result.exitStatus == 0 && result.output == "1\n", "\(result)")
        #expect(result.errors.contains("ksso login --armor-cache NAME"))
    }

    @Test func `ksso realm fault requires a realm that supports faults`() async throws {
        let result = try await station.ksso("realm", "fault", "drop")
        #expect(result == .failure(64, "this command works only inside a realm: ksso realm run … -- COMMAND"))
        let other = try await run(["--user", "alice:secret"], script: "ksso realm fault drop; ksso realm fault nonsense")
        #expect(other.exitStatus == 1 && other.errors.contains("EXAMPLE.TEST was started without support for faults"), "\(other)")
    }

    @Test func `--json prints the realm as one line of JSON`() async throws {
        let command = "ksso realm run --user alice:secret --web --json --until-input-ends </dev/null"
        let result = try await station.run(["sh", "-c", command], environment: folder.environment)
        #expect(result.exitStatus == 0 && result.errors.isEmpty, "\(result)")
        let line = try #require(JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
        let realm = try #require((line["realms"] as? [[String: String]])?.first)
        #expect(realm["name"] == "EXAMPLE.TEST" && realm["kdc"]?.hasPrefix("127.0.0.1:") == true, "\(realm)")
        let environment = try #require(line["environment"] as? [String: String])
        #expect(environment["KRB5_CONFIG"] == realm["configuration"])
        #expect((line["web"] as? [[String: String]])?.first?["url"] == environment["KSSO_REALM_URL"])
        #expect(environment.keys.allSatisfy { $0.hasPrefix("KRB5") || $0.hasPrefix("KSSO_") })
        #expect(try folder.contents == [])
    }

    @Test(
        arguments: [
            ("realms: []", "realms is missing: a list of realms, each with a name."),
            ("realms: [{users: {a: b}}]", "realms[0]: name is missing."),
            ("realm: [{name: A.TEST}]", "unknown key realm; the keys are listen, realms, trusts, web."),
            ("realms: [{name: A.TEST}, {name: A.TEST}]", "realms[1]: the realm A.TEST is defined twice."),
            ("realms: [{name: A.TEST, ticketLifetime: soon}]", "realms[0].ticketLifetime: expected a time, such as 90s, 10h or 7d."),
            ("realms: [{name: A.TEST, kdcs: many}]", "realms[0].kdcs: expected a whole number."),
            ("realms: [{name: A.TEST, services: HTTP/a}]", "realms[0].services: expected a list of strings."),
            (
                "realms: [{name: A.TEST}]\ntrusts: [A to B]",
                "trusts: “A to B” is not a trust. Write A.TEST -> B.TEST, or A.TEST <-> B.TEST for both ways."
            ),
            (
                "realms: [{name: A.TEST}]\nlisten: 0.0.0.0",
                "listen: “0.0.0.0” is not an address to listen at: pass one IPv4 address of this machine that clients can connect "
                    + "to, such as 127.0.0.1 or "
                    + "172.17.0.1; 0.0.0.0 is not allowed."
            ),
            ("realms: [{name: A.TEST}]\nweb: [{server: iis}]", "web[0].server: unknown server iis; the servers are apache and acceptor."),
        ]
    )
    func `an invalid plan is reported with the key that is wrong`(yaml: String, message: String) async throws {
        let path = try plan(yaml)
        let result = try await run(["--file", path], script: "true")
        #expect(result == .failure(1, "\(path): \(message)"))
    }

    /// The server would have to be in the plan's list, with a name of its own.
    @Test(arguments: [["--web"], ["--web", "--host", "web.test"]])
    func `--web cannot be combined with a plan that lists web servers`(flags: [String]) async throws {
        let path = try plan("realms: [{name: A.TEST}]\nweb: [{server: acceptor}]\n")
        let result = try await run(["--file", path] + flags, script: "echo started")
        let message = "\(path) lists its own servers (web). Omit --web and --host, or remove web from the plan."
        #expect(result == .failure(64, message))
    }

    @Test(
        arguments: [
            ["--file", "x", "--user", "a:b"], ["--fault", "nonsense"], ["--trust", "A"], ["--user", "alice@NOWHERE.TEST:x"],
            ["--realm", "A.TEST", "--realm", "A.TEST"], ["--listen", "0.0.0.0"], ["--listen", "example.test"],
            ["--listen", "224.0.0.1"],
            ["--host", "web.test"], ["--json", "--", "true"], ["--clock", "later"],
            ["--user", "alice:one", "--user", "alice@EXAMPLE.TEST:two"],
        ]
    )
    func `invalid flags of ksso realm run are a usage error`(arguments: [String]) async throws {
        let result = try await station.run(["ksso", "realm", "run"] + arguments, environment: folder.environment)
        #expect(result.exitStatus == 64 && result.output.isEmpty, "\(result)")
    }
}
