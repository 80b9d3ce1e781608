import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Settings for every user of the machine, which root installs.
@Suite(
    .testRealm(),
    .timeLimit(.minutes(5)),
    .enabled(if: PrivateMounts.arePossible, Comment(rawValue: PrivateMounts.reason))
)
struct ConfigureMachineTests {
    let station: Workstation
    let profilePath: String

    init() throws {
        station = try Workstation()
        profilePath = try station.write(
            """
            ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension
            TeamIdentifier: apple
            Type: Credential
            Realm: CORP.EXAMPLE
            Hosts: [corp.example, .corp.example]
            PlainHTTPHosts: [plain.corp.example]
            DelegationHosts: [git.corp.example]
            """,
            to: "corp.yaml"
        )
        let browser = try station.write("#!/bin/sh\n", to: "bin/chromium")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: browser)
    }

    private static let policy = """
        {
          "GSSAPILibraryName": "libgssapi_krb5.so.2",
          "AuthServerAllowlist": "https://corp.example,https://*.corp.example,plain.corp.example",
          "AuthNegotiateDelegateAllowlist": "https://git.corp.example",
          "AuthNegotiateDelegateByKdcPolicy": true
        }

        """

    private func machine(_ script: String) async throws -> CommandResult {
        try await MachineSettings.run(script, on: station, environment: ["KSSO_PROFILE": profilePath])
    }

    /// Other users can read it, whatever root's umask is.
    @Test func `the policy of Chromium has the hosts of the profile, and --uninstall removes it`() async throws {
        let script = """
            umask 077
            ksso configure chromium --install 2>/dev/null
            cat /etc/chromium/policies/managed/ksso.json
            stat -c '%a %n' /etc/chromium/policies /etc/chromium/policies/managed /etc/chromium/policies/managed/ksso.json
            ksso configure chromium --install 2>/dev/null
            ksso configure chromium --check
            ksso configure chromium --uninstall
            ls -A /etc/chromium/policies/managed
            ksso configure chromium --check || echo "status $?"
            """
        let result = try await machine(script)
        let file = "/etc/chromium/policies/managed/ksso.json"
        let expected = """
            \(file): written
            \(Self.policy)755 /etc/chromium/policies
            755 /etc/chromium/policies/managed
            644 \(file)
            \(file): up to date
            ok: \(file)
            \(file): removed
            missing: \(file): GSSAPILibraryName, AuthServerAllowlist, AuthNegotiateDelegateAllowlist, AuthNegotiateDelegateByKdcPolicy: \
            ksso configure chromium --install
            status 1

            """
        #expect(result.output == expected, "\(result)")
    }

    @Test func `policies of others that are sufficient are not repeated, and later files have precedence`() async throws {
        let script = """
            mkdir -p /etc/chromium/policies/managed; cd /etc/chromium/policies/managed
            echo '{"AuthServerAllowlist": "nothing.example"}' >a.json
            echo '{"AuthServerAllowlist": "*.corp.example, corp.example", "AuthNegotiateDelegateAllowlist": "git.corp.example,www.corp.example"}' >b.json
            ksso configure chromium --install 2>/dev/null
            cat ksso.json
            ksso configure chromium --check || echo "status $?"
            """
        let result = try await machine(script)
        let file = "/etc/chromium/policies/managed"
        let expected = """
            \(file)/ksso.json: written
            {
              "GSSAPILibraryName": "libgssapi_krb5.so.2",
              "AuthNegotiateDelegateByKdcPolicy": true
            }
            ok: \(file)/ksso.json
            contradicts: \(file)/b.json delegates the user's ticket to www.corp.example, which DelegationHosts does not list
            status 1

            """
        #expect(result.output == expected, "\(result)")
    }

    @Test func `a policy of others that hides that of the profile is reported`() async throws {
        let script = """
            mkdir -p /etc/chromium/policies/managed; cd /etc/chromium/policies/managed
            echo '{"AuthServerAllowlist": "www.corp.example", "AuthSchemes": "basic,ntlm"}' >a.json
            ksso configure chromium --check || echo "status $?"
            ksso configure chromium --install || echo "status $?"
            ls
            """
        let result = try await machine(script)
        let text =
            "/etc/chromium/policies/managed/a.json sets AuthServerAllowlist, and Chromium uses only one file for each policy. "
            + "Add https://corp.example,https://*.corp.example,plain.corp.example to it there, or remove it."
        let schemes = "contradicts: /etc/chromium/policies/managed/a.json sets AuthSchemes to basic,ntlm: add negotiate to it"
        #expect(result.output == "contradicts: \(text)\n\(schemes)\nstatus 1\nstatus 1\na.json\n", "\(result)")
        #expect(result.errors == "ksso: \(text)\n")
    }

    private static let others =
        "{\n    \"policies\": {\n        \"Authentication\": {\n            \"SPNEGO\": [\n                \"old.example\"\n            ],\n"
        + "            \"Locked\": true\n        },\n        \"Limit\": 1.50\n    }\n}\n"

    @Test func `Firefox's policies of others are kept, and --uninstall restores the file`() async throws {
        let others = try station.write(Self.others, to: "policies.json")
        let script = """
            mkdir -p /etc/firefox/policies; cd /etc/firefox/policies; cp \(others) .
            ksso configure firefox --install </dev/null || echo "status $?"
            cmp \(others) policies.json
            ksso configure firefox --install --yes 2>/dev/null
            cat policies.json
            ksso configure firefox --install
            ksso configure firefox --check
            ksso configure firefox --uninstall
            cmp \(others) policies.json
            rm policies.json
            ksso configure firefox --install 2>/dev/null
            ksso configure firefox --uninstall
            ls -A . /var/lib/ksso
            """
        let result = try await machine(script)
        let file = "/etc/firefox/policies/policies.json"
        let entries = ["https://corp.example", "https://.corp.example", "plain.corp.example"].map { "                \"\($0)\"" }
        let merged = Self.others.replacing("\"old.example\"\n", with: "\"old.example\",\n\(entries.joined(separator: ",\n"))\n")
        let expected = """
            status 4
            \(file): written
            \(merged)\(file): up to date
            ok: \(file)
            \(file): the settings of ksso were removed
            \(file): written
            \(file): removed
            .:

            /var/lib/ksso:

            """
        #expect(result.output == expected, "\(result)")
    }

    @Test func `entries that others added in the meantime stay in Firefox's policies`() async throws {
        let script = """
            ksso configure firefox --install 2>/dev/null
            sed -i 's|"SPNEGO": \\[|"SPNEGO": ["added.example",|' /etc/firefox/policies/policies.json
            ksso configure firefox --check
            ksso configure firefox --uninstall
            tr -d ' \\n' </etc/firefox/policies/policies.json
            """
        let result = try await machine(script)
        #expect(result.output.hasSuffix("\n{\"policies\":{\"Authentication\":{\"SPNEGO\":[\"added.example\"]}}}"), "\(result)")
    }

    @Test(arguments: ["chromium", "firefox", "apt"])
    func `a user without root gets the command to run`(program: String) async throws {
        let script = """
            exec setpriv --reuid=12345 --regid=12345 --clear-groups ksso configure \(program) --install
            """
        // Other tests use the realm's folder at the same time, so that only what the user reads there is opened to all.
        let realm = station.realm
        let opened = try await station.run(["chmod", "-R", "a+rX", station.directory])
        let shared = try await station.run(["chmod", "a+rX", realm.directory, realm.configurationPath])
        #expect(opened.exitStatus == 0 && shared.exitStatus == 0)
        let result = try await machine(script)
        #expect(result.exitStatus == 1)
        // Root does not find the user's own profile.
        let command = "sudo ksso configure \(program) --install --profile \(station.directory)/corp.yaml\n"
        #expect(result.errors.hasSuffix("apply to every user of the machine. Run: \(command)"), "\(result)")
    }

    @Test func `as root, git, pip and the environment's proxy are configured for the machine`() async throws {
        let script = """
            for program in git pip proxy-env; do ksso configure $program --install 2>/dev/null; done
            HOME=/nonexistent git config --get-urlmatch http.emptyAuth https://www.corp.example
            grep proxy /etc/pip.conf | tail -n 1
            sh -c '. /etc/profile.d/ksso-proxy.sh; echo $http_proxy'
            stat -c %a /etc/gitconfig /etc/environment.d/61-ksso-proxy.conf
            for program in git pip proxy-env; do ksso configure $program --uninstall; done
            """
        let result = try await machine(script)
        let files = ["/etc/gitconfig", "/etc/pip.conf", "/etc/environment.d/61-ksso-proxy.conf", "/etc/profile.d/ksso-proxy.sh"]
        let lines =
            files.map { "\($0): written" } + [
                "true", "proxy = http://127.0.0.1:8407", "http://127.0.0.1:8407", "644", "644",
            ] + files.map { "\($0): removed" }
        #expect(result.output == lines.joined(separator: "\n") + "\n", "\(result)")
        #expect(!FileManager.default.fileExists(atPath: "\(station.directory)/.gitconfig"))
    }

    @Test(.enabled(if: StockProgram.isInstalled("apt-config"), "apt is not installed"))
    func `apt reads the proxy and the exceptions`() async throws {
        let text = try String(contentsOfFile: profilePath, encoding: .utf8)
        try (text + "\nNoProxy: [mirror.corp.example, .corp.example]\n").write(toFile: profilePath, atomically: true, encoding: .utf8)
        let script = """
            ksso configure apt --install 2>/dev/null
            apt-config dump Acquire::https::Proxy | LC_ALL=C sort
            ksso configure apt --check
            echo 'Acquire::http::Proxy "http://other:3128/";' >/etc/apt/apt.conf.d/99other
            ksso configure apt --check || echo "status $?"
            rm /etc/apt/apt.conf.d/99other
            ksso configure apt --uninstall
            """
        let result = try await machine(script)
        let file = "/etc/apt/apt.conf.d/90ksso-proxy"
        let expected = """
            \(file): written
            Acquire::https::Proxy "http://127.0.0.1:8407/";
            Acquire::https::Proxy::127.0.0.1 "DIRECT";
            Acquire::https::Proxy::localhost "DIRECT";
            Acquire::https::Proxy::mirror.corp.example "DIRECT";
            ok: \(file)
            ok: \(file)
            contradicts: Acquire::http::Proxy names another proxy, because a later file sets it: \
            find it with: grep -r Proxy /etc/apt/apt.conf.d /etc/apt/apt.conf
            status 1
            \(file): removed

            """
        #expect(result.output == expected, "\(result)")
    }

    @Test func `as root, docker's daemon gets the proxy from systemd`() async throws {
        let script = """
            ksso configure docker --install 2>/dev/null
            grep -v '^#' /etc/systemd/system/docker.service.d/60-ksso-proxy.conf
            ksso configure docker --uninstall
            """
        let result = try await machine(script)
        let file = "/etc/systemd/system/docker.service.d/60-ksso-proxy.conf"
        let lines = [
            "\(file): written", "[Service]", "Environment=\"HTTP_PROXY=http://127.0.0.1:8407\"",
            "Environment=\"HTTPS_PROXY=http://127.0.0.1:8407\"", "Environment=\"NO_PROXY=localhost,127.0.0.1,::1\"", "\(file): removed", "",
        ]
        #expect(result.output == lines.joined(separator: "\n"), "\(result)")
    }
}
