import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The files of one user, of which other programs and people write parts.
@Suite(.testRealm(), .timeLimit(.minutes(5)))
struct ConfigureUserTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install(profile(hosts: [".corp.example"]))
    }

    /// A file with other settings, and a line that `ksso` adds.
    struct Sample: Sendable, CustomTestStringConvertible {
        let program: String
        let path: String
        let content: String
        let line: String

        var testDescription: String { "\(program): \(content.debugDescription)" }
    }

    private static let samples = [
        Sample(program: "git", path: ".gitconfig", content: "[user]\n\tname = Alice", line: "\n    emptyAuth = true\n"),
        Sample(program: "git", path: "config/git/config", content: "[user]\n\tname = Alice\n", line: "\n    delegation = none\n"),
        Sample(
            program: "pip",
            path: "config/pip/pip.conf",
            content: "# mine\n[global]\ntimeout = 60\n\n[install]\nuser = true\n",
            line: "\nproxy = http://127.0.0.1:8407\n"
        ),
        Sample(
            program: "pip",
            path: "config/pip/pip.conf",
            content: "[install]\nuser = true\n[global]",
            line: "\nproxy = http://127.0.0.1:8407\n"
        ),
        Sample(
            program: "pip",
            path: "config/pip/pip.conf",
            content: "[install]\nuser = true",
            line: "\n[global]\nproxy = http://127.0.0.1:8407\n"
        ),
        Sample(
            program: "npm",
            path: ".npmrc",
            content: "registry=https://npm.corp.example/\n",
            line: "\nhttps-proxy=http://127.0.0.1:8407\n"
        ),
        Sample(
            program: "docker",
            path: ".docker/config.json",
            content: "{\n\t\"auths\": {\n\t\t\"registry.corp.example\": {}\n\t},\n\t\"detachKeys\": \"ctrl-\\u0070\"\n}\n",
            line: "\n\t\t\t\"httpProxy\": \"http://127.0.0.1:8407\",\n"
        ),
        Sample(program: "proxy-env", path: ".profile", content: "umask 077", line: "\nexport https_proxy='http://127.0.0.1:8407'\n"),
    ]

    private func configure(_ program: String, _ options: String...) async throws -> CommandResult {
        try await station.run(["ksso", "configure", program, "--user"] + options)
    }

    private func file(of sample: Sample) throws -> String {
        let folder = URL(fileURLWithPath: "\(station.directory)/\(sample.path)").deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = try station.write(sample.content, to: sample.path)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        return path
    }

    private func contents(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    @Test(arguments: samples)
    func `other settings are kept, and --uninstall restores the file`(_ sample: Sample) async throws {
        let path = try file(of: sample)
        let missing = try await configure(sample.program, "--check")
        #expect(missing.exitStatus == 1 && missing.output.contains("missing: \(path)"), "\(missing)")
        let refused = try await configure(sample.program, "--install")
        #expect(refused.exitStatus == 4 && refused.errors.contains("To change it without a question: ksso configure"), "\(refused)")
        #expect(try contents(path) == sample.content)

        let installed = try await configure(sample.program, "--install", "--yes")
        #expect(installed.exitStatus == 0 && installed.output.contains("\(path): written\n"), "\(installed)")
        let text = try contents(path)
        #expect(text.contains(sample.line), "\(text)")
        for line in sample.content.split(separator: "\n") where line != "}" { #expect(text.contains(line), "\(text)") }
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o640)
        let again = try await configure(sample.program, "--install")
        #expect(again.exitStatus == 0 && again.output.contains("\(path): up to date\n"), "\(again)")
        #expect(try contents(path) == text)
        if sample.program != "proxy-env" {
            let checked = try await configure(sample.program, "--check")
            #expect(checked == .done("ok: \(path)\n"))
        }

        let removed = try await configure(sample.program, "--uninstall")
        #expect(removed.exitStatus == 0 && removed.output.contains("\(path): the settings of ksso were removed\n"), "\(removed)")
        #expect(try contents(path) == sample.content)
        #expect(try await configure(sample.program, "--uninstall").output.hasPrefix("Nothing was removed: "))
        #expect(!FileManager.default.fileExists(atPath: "\(station.directory)/.local/state/ksso/settings.json"))
    }

    /// As left by a former user of another local proxy.
    @Test func `ksso configure proxy-env reports the lines of others and git's own proxy`() async throws {
        guard StockProgram.isInstalled("git") else { try Test.cancel("git is not installed") }
        #expect(try await configure("proxy-env", "--install", "--yes").exitStatus == 0)
        let others = [
            ".profile": "export http_proxy=http://127.0.0.1:3128", "config/environment.d/90-proxy.conf": "HTTPS_PROXY=http://p.test:80",
        ]
        // These have no effect: ours come later.
        try station.write("http_proxy=http://p.test:80\n", to: "config/environment.d/10-proxy.conf")
        try station.write("http_proxy=http://p.test:80\n" + contents("\(station.directory)/.profile"), to: ".profile")
        #expect(try await !configure("proxy-env", "--check").output.contains("names another proxy"))
        for (name, line) in others {
            let path = "\(station.directory)/\(name)"
            let text = (try? contents(path)) ?? ""
            try station.write("\(text)\(line)\n", to: name)
            let checked = try await configure("proxy-env", "--check")
            let fault = "contradicts: \(path) names another proxy, and is read after the lines of ksso: remove its setting\n"
            #expect(checked.exitStatus == 1 && checked.output.contains(fault), "\(checked)")
        }
        #expect(try await !configure("proxy-env", "--check").output.contains("git"))
        try station.write("[http]\nproxy = http://127.0.0.1:3128\n", to: ".gitconfig")
        let fault = "contradicts: http.proxy of git names another proxy, which has precedence"
        #expect(try await configure("proxy-env", "--check").output.contains(fault))
        #expect(try await configure("proxy-env", "--install", "--yes").errors.contains("warning: http.proxy of git names another proxy"))
    }

    @Test(arguments: [
        ("proxy-env", "http_proxy", "http_proxy has another value in this session: log in again, or find what sets it"),
        ("pip", "PIP_PROXY", "PIP_PROXY names another proxy, which has precedence: unset it"),
    ])
    func `a password in the address of another proxy is not printed`(program: String, variable: String, finding: String) async throws {
        let checked = try await station.run(
            ["ksso", "configure", program, "--user", "--check"],
            environment: [variable: "http://alice:hunter2@p.test:3128"]
        )
        #expect(checked.exitStatus == 1 && checked.output.contains("contradicts: \(finding)\n"), "\(checked)")
        #expect(!"\(checked)".contains("hunter2"))
    }

    @Test(arguments: ["git", "pip", "npm", "docker", "proxy-env"])
    func `a file that ksso created is removed`(program: String) async throws {
        let before = try files()
        let installed = try await configure(program, "--install")
        #expect(installed.exitStatus == 0 && installed.output.contains(": written\n"), "\(installed)")
        let printed = try await configure(program)
        for path in installed.output.split(separator: "\n").map({ $0.replacing(": written", with: "") }) where program != "proxy-env" {
            #expect(try printed.output.contains("# \(path)\n\(contents(String(path)))"), "--install writes what is printed")
        }
        let removed = try await configure(program, "--uninstall")
        #expect(removed.output == installed.output.replacing("written", with: "removed"), "\(removed)")
        #expect(try files() == before)
    }

    /// The regular files of the home.
    private func files() throws -> Set<String> {
        let names = try FileManager.default.subpathsOfDirectory(atPath: station.directory)
        return Set(names.filter { !$0.hasPrefix("run") && FileManager.default.contents(atPath: "\(station.directory)/\($0)") != nil })
    }

    @Test func `a changed profile replaces the settings of the earlier one`() async throws {
        #expect(try await configure("git", "--install").exitStatus == 0)
        try station.install(profile(hosts: ["git.other.example"]))
        let path = "\(station.directory)/.gitconfig"
        let outdated = try await configure("git", "--check")
        #expect(outdated.output.hasPrefix("outdated: \(path) is of an earlier profile: ksso configure git --install"), "\(outdated)")
        #expect(try await configure("git", "--install", "--yes").exitStatus == 0)
        let text = try contents(path)
        #expect(text.contains("https://git.other.example") && !text.contains("corp.example"), "\(text)")
    }

    @Test func `lines that were added below the settings keep their section`() async throws {
        let path = "\(station.directory)/config/pip/pip.conf"
        #expect(try await configure("pip", "--install").exitStatus == 0)
        try (contents(path) + "timeout = 60\n").write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try await configure("pip", "--uninstall").exitStatus == 0)
        #expect(try contents(path) == "[global]\ntimeout = 60\n")
    }

    @Test(arguments: [
        ("pip", "config/pip/pip.conf", "[global]\nproxy = http://other:3128\n", "proxy is http://other:3128"),
        ("npm", ".npmrc", "https-proxy=http://other:3128\n", "https-proxy is http://other:3128"),
        (
            "docker", ".docker/config.json", #"{"proxies": {"default": {"httpProxy": "http://other:3128"}}}"#,
            "proxies.default.httpProxy has"
        ),
        ("docker", ".docker/config.json", "{\n\"auths\": nonsense}", "line 2 is not valid JSON"),
    ])
    func `a setting of others is neither overwritten nor duplicated`(program: String, name: String, text: String, words: String)
        async throws
    {
        let path = try file(of: Sample(program: program, path: name, content: text, line: ""))
        let checked = try await configure(program, "--check")
        #expect(checked.exitStatus == 1 && checked.output.hasPrefix("contradicts: \(path): \(words)"), "\(checked)")
        let installed = try await configure(program, "--install", "--yes")
        #expect(installed.exitStatus == 1 && installed.errors.hasPrefix("ksso: \(path): \(words)"), "\(installed)")
        #expect(try contents(path) == text)
    }

    @Test func `at a terminal, --install shows the lines and asks`() async throws {
        let path = try station.write("[user]\n\tname = Alice\n", to: ".gitconfig")
        for (answer, isInstalled) in [("n\n", false), ("\n", true)] {
            let end = try await Conversation.atTerminal("ksso configure git --user --install", on: station) { terminal in
                let question = try await terminal.wait(for: "Make these changes? [Y/n] ")
                #expect(question.contains("\(path): append these lines\n    # >>> ksso >>>"), "\(question)")
                #expect(question.contains("\n    [http \"https://*.corp.example\"]\n"), "\(question)")
                try await terminal.type(answer)
            }
            #expect(end.status == 0, "\(end)")
            #expect(try contents(path).contains("emptyAuth") == isInstalled)
        }
    }

    @Test func `without a profile, the settings of hosts are refused with the command that installs one`() async throws {
        try FileManager.default.removeItem(atPath: "\(station.directory)/config/ksso/test.yaml")
        let refused = try await configure("git")
        #expect(
            refused == .failure(3, "no profile lists a host, so there is nothing to configure. Install one with: ksso setup FILE")
        )
        #expect(try await configure("pip").exitStatus == 0)
    }

    @Test func `--proxy names another address, and must be one`() async throws {
        let printed = try await configure("npm", "--proxy", "127.0.0.1:3128")
        #expect(printed.output.contains("\nproxy=http://127.0.0.1:3128\n"), "\(printed)")
        for text in ["127.0.0.1", "host:0", "host:65536", "http://host:1", "a b:1"] {
            let refused = try await configure("npm", "--proxy", text)
            #expect(refused.exitStatus == 64 && refused.errors.contains("--proxy: write a host and a port"), "\(refused)")
        }
    }
}
