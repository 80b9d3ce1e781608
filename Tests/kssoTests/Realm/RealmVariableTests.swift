import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The variables for the web servers and the certificates of `ksso realm run`.
@Suite(.testRealm(), .timeLimit(.minutes(5)))
struct RealmVariableTests {
    let station: Workstation
    let folder: RealmFolder

    init() throws {
        station = try Workstation()
        folder = try RealmFolder()
    }

    private func run(_ yaml: String, script: String) async throws -> CommandResult {
        try await folder.run(["--file", try station.write(yaml, to: "realm.yaml")], script: script, on: station)
    }

    /// Prints the names of the variables for servers and certificates.
    private static let names = "env | grep -oE '^KSSO_REALM_(URL|CERTIFICATE|IDENTITY)[^=]*' | sort | xargs"

    @Test func `each of several web servers has variables with its name or its number`() async throws {
        let yaml = """
            realms:
              - {name: A.TEST, users: {alice: secret}}
            web:
              - {name: front-end, server: apache, tls: true}
              - {server: acceptor, tls: true}
              - {name: plain, server: acceptor}

            """
        let script = """
            echo secret | ksso login alice --password-stdin --quiet
            for url in "$KSSO_REALM_URL_FRONT_END" "$KSSO_REALM_URL_2" "$KSSO_REALM_URL_PLAIN"; do ksso fetch "$url/hello"; done
            printf '%s\\n' "$KSSO_REALM_URL_FRONT_END" "$KSSO_REALM_URL_2" "$KSSO_REALM_URL_PLAIN" | sort -u | wc -l
            [ "$KSSO_REALM_URL" = "$KSSO_REALM_URL_FRONT_END" ]
            [ "$KSSO_REALM_CERTIFICATE" = "$KSSO_REALM_CERTIFICATE_FRONT_END" ]
            \(Self.names)
            """
        let result = try await run(yaml, script: script)
        let variables =
            "KSSO_REALM_CERTIFICATE KSSO_REALM_CERTIFICATE_2 KSSO_REALM_CERTIFICATE_FRONT_END "
            + "KSSO_REALM_URL KSSO_REALM_URL_2 KSSO_REALM_URL_FRONT_END KSSO_REALM_URL_PLAIN"
        let page = "Hello alice@A.TEST"
        #expect(
            result.exitStatus == 0 && result.output.split(separator: "\n") == [page[...], page[...], page[...], "3", variables[...]],
            "\(result)"
        )
    }

    @Test func `a single web server without a name has no further variable`() async throws {
        let result = try await folder.run(["--web"], script: Self.names, on: station)
        #expect(result == .done("KSSO_REALM_URL\n"))
    }

    @Test func `a realm inside a realm does not have the variables of the outer web server`() async throws {
        let result = try await folder.run(["--web"], script: "ksso realm run -- sh -c 'echo ${KSSO_REALM_URL-unset}'", on: station)
        #expect(result == .done("unset\n"))
    }

    @Test(
        arguments: [
            ("{name: 2nd}", "web[0].name: a name begins with a letter and has letters, digits, - and _ only."),
            ("{name: a.b}", "web[0].name: a name begins with a letter and has letters, digits, - and _ only."),
            ("{name: a-b}, {name: A_B}", "web[1].name: another server also has the variable KSSO_REALM_URL_A_B."),
        ]
    )
    func `names of web servers that yield no variable of their own are rejected`(servers: String, message: String) async throws {
        let result = try await run("realms: [{name: A.TEST}]\nweb: [\(servers)]\n", script: "true")
        #expect(result == .failure(1, "\(station.directory)/realm.yaml: \(message)"))
    }

    @Test func `two users with the same variable for their certificates are a usage error`() async throws {
        let flags = ["--user", "a.b:x", "--user", "a-b:x", "--certificates"]
        let message = "a-b@EXAMPLE.TEST and a.b@EXAMPLE.TEST have the same variable KSSO_REALM_IDENTITY_A_B for their certificates."
        #expect(try await folder.run(flags, script: "true", on: station) == .failure(64, "\(message) Rename one of them."))
    }
}

/// `ksso realm run` with `certificates`.
@Suite(
    .testRealm(),
    .enabled(if: certificatePlugins != nil, "krb5-pkinit is missing: Scripts/install-packages unpacks it"),
    .timeLimit(.minutes(5))
)
struct RealmCertificateTests {
    let station: Workstation
    let folder: RealmFolder
    /// The path of the plan, with users in two realms, one of which has no password.
    let plan: String

    init() throws {
        station = try Workstation()
        folder = try RealmFolder()
        let plugins = try #require(certificatePlugins)
        plan = try station.write(
            """
            realms:
              - name: A.TEST
                users: {alice: secret}
                principals:
                  - {name: carol.x, attributes: [+requires_preauth]}
                  - {name: HTTP/old.test}
                certificates: true
                pluginDirectory: \(plugins)
              - name: B.TEST
                users: {alice: other}
                certificates: true
                pluginDirectory: \(plugins)

            """,
            to: "realm.yaml"
        )
    }

    @Test func `each user can sign in with the certificate in a variable`() async throws {
        let script = """
            for user in alice carol.x; do
                variable=KSSO_REALM_IDENTITY_$(tr a-z. A-Z_ <<<"$user")
                ksso login "$user" --certificate "${!variable}" | sed 's/ until .*//'
            done
            kinit -X "X509_user_identity=$KSSO_REALM_IDENTITY_ALICE_B_TEST" alice@B.TEST
            klist | grep 'Default principal'
            env | grep -oE '^KSSO_REALM_IDENTITY[^=]*' | sort | xargs
            """
        let result = try await folder.run(["--file", plan], script: script, on: station)
        let lines = [
            "alice@A.TEST is signed in", "carol.x@A.TEST is signed in", "Default principal: alice@B.TEST",
            "KSSO_REALM_IDENTITY_ALICE KSSO_REALM_IDENTITY_ALICE_B_TEST KSSO_REALM_IDENTITY_CAROL_X",
        ]
        #expect(result == .done(lines.map { "\($0)\n" }.joined()))
    }

    @Test func `--json lists the certificates of each realm`() async throws {
        let command = "ksso realm run --file '\(plan)' --json --until-input-ends </dev/null"
        let result = try await station.run(["sh", "-c", command], environment: folder.environment)
        let line = try #require(JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any], "\(result)")
        let realm = try #require((line["realms"] as? [[String: Any]])?.first)
        let certificates = try #require(realm["certificates"] as? [[String: String]])
        #expect(certificates.map { $0["user"] } == ["alice", "carol.x"])
        #expect((realm["certificateAuthority"] as? String)?.hasSuffix("/ca.pem") == true)
        let alice = try #require(certificates.first)
        #expect(alice["identity"] == "FILE:\(alice["certificate"] ?? ""),\(alice["key"] ?? "")")
        #expect((line["environment"] as? [String: String])?["KSSO_REALM_IDENTITY_ALICE"] == alice["identity"])
    }
}
