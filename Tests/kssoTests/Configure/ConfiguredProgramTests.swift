import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The programs read the settings as they are meant.
@Suite(.testRealm(), .timeLimit(.minutes(5)))
struct ConfiguredProgramTests {
    let station: Workstation

    init() throws { station = try Workstation() }

    private func install(_ program: String) async throws {
        let result = try await station.ksso("configure", program, "--user", "--install")
        #expect(result.exitStatus == 0, "\(result)")
    }

    private static let isWithoutGit = !StockProgram.isInstalled("git")

    private static let corporate = [
        "Hosts: [.corp.example, git.example, plain.example, deep.example]", "PlainHTTPHosts: [plain.example]",
        "DelegationHosts: [git.corp.example, .elsewhere.example]", "UnconditionalDelegationHosts: [deep.example]",
    ]

    /// Each URL with the values of `http.emptyAuth` and `http.delegation`.
    @Test(
        .disabled(if: isWithoutGit, "git is not installed"),
        arguments: [
            ("https://www.corp.example", "true", "none"), ("https://a.b.corp.example/x.git", "true", "none"),
            ("https://a.b.c.corp.example", "true", "none"), ("https://a.b.c.d.corp.example", "", ""), ("https://corp.example", "", ""),
            ("https://evilcorp.example", "", ""), ("http://www.corp.example", "", ""), ("https://git.corp.example", "true", "policy"),
            ("https://git.example", "true", "none"), ("https://www.git.example", "", ""), ("https://git.example:8443", "", ""),
            ("https://plain.example", "true", "none"), ("http://plain.example/x", "true", "none"), ("http://git.example", "", ""),
            ("https://x.elsewhere.example", "", ""), ("https://deep.example", "true", "always"),
        ]
    )
    func `git signs in to the hosts of the profile and to no others`(url: String, emptyAuth: String, delegation: String) async throws {
        let base =
            "ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension\nTeamIdentifier: apple\nType: Credential\nRealm: CORP.EXAMPLE\n"
        try station.install(base + Self.corporate.joined(separator: "\n") + "\n")
        try await install("git")
        for (key, value) in [("http.emptyAuth", emptyAuth), ("http.delegation", delegation)] {
            let result = try await station.run(["git", "config", "--get-urlmatch", key, url])
            #expect(result.output == (value.isEmpty ? "" : "\(value)\n"), "\(key) \(result)")
        }
        #expect(try await station.ksso("configure", "git", "--user", "--check").exitStatus == 0)
    }

    @Test(.disabled(if: isWithoutGit, "git is not installed"))
    func `--check reports what contradicts the profile in git's other lines`() async throws {
        try station.install(profile(hosts: ["git.corp.example"]))
        try await install("git")
        let lines = "[http \"https://git.corp.example/\"]\n\temptyAuth = false\n\tdelegation = always\n"
        let path = "\(station.directory)/.gitconfig"
        try (String(contentsOfFile: path, encoding: .utf8) + lines).write(toFile: path, atomically: true, encoding: .utf8)
        let result = try await station.ksso("configure", "git", "--user", "--check")
        #expect(result.exitStatus == 1)
        #expect(result.output.contains("contradicts: http.emptyAuth is false for https://git.corp.example: find it with: git config"))
        #expect(
            result.output.contains("contradicts: http.delegation is always for https://git.corp.example, and the profile requires none")
        )
    }

    /// git adds a setting to the first section of its name, which may be between the marks.
    @Test(.disabled(if: isWithoutGit, "git is not installed"))
    func `a line that git added between those of ksso is not lost`() async throws {
        try station.install(profile(hosts: ["git.corp.example"]))
        try await install("git")
        let added = try await station.run(["git", "config", "--global", "http.https://git.corp.example.sslVersion", "tlsv1.3"])
        #expect(added.exitStatus == 0)
        let path = "\(station.directory)/.gitconfig"
        let before = try String(contentsOfFile: path, encoding: .utf8)
        for options in [["--install", "--yes"], ["--uninstall"]] {
            let refused = try await station.run(["ksso", "configure", "git", "--user"] + options)
            let place = "Move it with its section below the line “# <<< ksso <<<”."
            let sentence = "\(path): the line “sslVersion = tlsv1.3” is between the lines of ksso. \(place)"
            #expect(refused.exitStatus == 1 && refused.errors == "ksso: \(sentence)\n", "\(refused)")
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == before)
    }

    @Test(.disabled(if: isWithoutGit, "git is not installed"))
    func `--check accepts git's other files that have the settings`() async throws {
        try station.install(profile(hosts: ["git.corp.example"]))
        let system = try station.write(
            "[http \"https://*.corp.example\"]\nemptyAuth\n[http \"http://*.corp.example\"]\nemptyAuth = true\n",
            to: "system"
        )
        let result = try await station.ksso("configure", "git", "--user", "--check", environment: ["GIT_CONFIG_SYSTEM": system])
        #expect(result == .done("ok: git's other files have these settings\n"))
    }

    /// pip refuses a file with two sections or two lines of the same name.
    @Test(.enabled(if: StockProgram.isInstalled("pip3"), "pip is not installed"))
    func `pip reads the proxy`() async throws {
        try FileManager.default.createDirectory(atPath: "\(station.directory)/config/pip", withIntermediateDirectories: true)
        try station.write("[global]\ntimeout = 60\n", to: "config/pip/pip.conf")
        #expect(try await station.ksso("configure", "pip", "--user", "--install", "--yes").exitStatus == 0)
        let result = try await station.run(["pip3", "config", "list"])
        let lines = Set(result.output.split(separator: "\n"))
        #expect(lines.isSuperset(of: ["global.proxy='http://127.0.0.1:8407'", "global.timeout='60'"]), "\(result)")
    }

    @Test(.enabled(if: StockProgram.isInstalled("npm"), "npm is not installed"))
    func `npm reads the proxy and the exceptions`() async throws {
        try station.install(profile() + "NoProxy: [.corp.example, 10.0.0.0/8]\n")
        try await install("npm")
        for (key, value) in [
            ("proxy", "http://127.0.0.1:8407"), ("https-proxy", "http://127.0.0.1:8407"),
            ("noproxy", "localhost,127.0.0.1,::1,.corp.example,10.0.0.0/8"),
        ] {
            let result = try await station.run(["npm", "config", "get", key], environment: ["no_proxy": ""])
            // Some versions add a slash to URLs.
            #expect(result.output.trimmingCharacters(in: ["\n", "/"]) == value, "\(result)")
        }
    }

    @Test(.enabled(if: StockProgram.isInstalled("docker"), "docker is not installed"))
    func `docker accepts its configuration file`() async throws {
        try await install("docker")
        let result = try await station.run(["docker", "context", "ls"])
        #expect(result.exitStatus == 0 && !result.errors.contains("config"), "\(result)")
        // A file that docker does not accept causes a warning.
        let path = "\(station.directory)/.docker/config.json"
        try ("x" + String(contentsOfFile: path, encoding: .utf8)).write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try await station.run(["docker", "context", "ls"]).errors.contains("config"))
    }

    @Test(arguments: ["dash", "bash", "fish"])
    func `a shell takes the variables of the proxy from ksso configure proxy-env`(shell: String) async throws {
        guard StockProgram.isInstalled(shell) else { try Test.cancel("\(shell) is not installed") }
        try station.install(profile() + "NoProxy: [.corp.example]\n")
        let load = shell == "fish" ? "ksso configure proxy-env --user | source" : "eval \"$(ksso configure proxy-env --user)\""
        // Without a start file. fish creates its folder there.
        let home = ["HOME": "\(station.directory)/empty"]
        let result = try await station.run([shell, "-c", "\(load); env | grep -i _proxy= | sort"], environment: home)
        let list = "localhost,127.0.0.1,::1,.corp.example"
        let url = "http://127.0.0.1:8407"
        let expected = [
            "HTTPS_PROXY=\(url)", "HTTP_PROXY=\(url)", "NO_PROXY=\(list)", "http_proxy=\(url)", "https_proxy=\(url)", "no_proxy=\(list)",
        ]
        #expect(result.output.split(separator: "\n").map(String.init).sorted() == expected.sorted(), "\(result)")
    }

    @Test func `a login shell has the variables of the proxy after --install`() async throws {
        try await install("proxy-env")
        let result = try await station.run(["dash", "-l", "-c", "echo $https_proxy $NO_PROXY"])
        #expect(result.output == "http://127.0.0.1:8407 localhost,127.0.0.1,::1\n", "\(result)")
    }
}
