import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso setup` changes the files of the session only with the user's consent, and removes what it installed.
@Suite(.testRealm(users: ["alice": "secret"]), .timeLimit(.minutes(5)))
struct SetupSessionTests {
    let station: Workstation

    init() throws { station = try Workstation() }

    private var environmentFile: String { "\(station.directory)/config/environment.d/60-ksso.conf" }
    private var profileFile: String { "\(station.directory)/.profile" }
    private var installedProfile: String { "\(station.directory)/config/ksso/corp.yaml" }
    private static let mark = "# >>> ksso >>>"
    private static let question = "Make these changes? [Y/n] "

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }
    private func contents(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
    private func corporateProfile() throws -> String { try station.write(profile(), to: "corp.yaml") }

    /// The home with its files, without the profile that the tests install.
    private func files() throws -> [String: Data] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: station.directory).filter { $0 != "corp.yaml" }
        return Dictionary(
            uniqueKeysWithValues: names.compactMap { name in
                FileManager.default.contents(atPath: "\(station.directory)/\(name)").map { (name, $0) }
            }
        )
    }

    @Test(arguments: [("\n", true), ("y\n", true), ("Yes\n", true), ("n\n", false), ("\u{4}", false)])
    func `ksso setup shows each changed file with its lines and asks at the terminal`(answer: String, isConfigured: Bool) async throws {
        let file = try corporateProfile()
        try station.write("umask 077\n", to: ".profile")
        let end = try await Conversation.atTerminal("ksso setup --no-login \(file)", on: station) { terminal in
            let plan = try await terminal.wait(for: Self.question)
            #expect(plan.contains("\n\(environmentFile): create this file\n    \(Self.mark)"), "\(plan)")
            #expect(plan.contains("\n    KRB5_CONFIG=\(station.runtime)/krb5.conf:"), "\(plan)")
            #expect(plan.contains("\n\(profileFile): append these lines\n    \(Self.mark)"), "\(plan)")
            #expect(!exists(environmentFile))
            #expect(try contents(profileFile) == "umask 077\n")
            try await terminal.type(answer)
        }
        #expect(end.status == 0 && exists(installedProfile), "\(end)")
        #expect(exists(environmentFile) == isConfigured)
        #expect(try contents(profileFile).contains(Self.mark) == isConfigured)
        #expect(end.transcript.contains("\(profileFile): written") == isConfigured, "\(end)")
        let later = "The session is not configured. To configure it later: ksso configure session --install"
        #expect(end.transcript.contains(later) != isConfigured, "\(end)")
        // The lines that are shown are those that are written.
        guard isConfigured else { return }
        for line in try contents(profileFile).split(separator: "\n").dropFirst() { #expect(end.transcript.contains("\n    \(line)\n")) }
        let again = try await station.ksso("setup", "--no-login")
        #expect(again == .done("\(environmentFile): up to date\n\(profileFile): up to date\n"), "nothing has to be asked")
    }

    /// Settings of the session would hide the tickets that a login stores there.
    @Test(arguments: [[], ["--yes"]])
    func `ksso setup leaves the session alone if the machine's default cache is KCM`(options: [String]) async throws {
        let words = ["ksso", "setup", "--no-login", try corporateProfile()] + options
        let socket = "\(station.directory)/kcm.sock"
        let system = try station.write("[libdefaults]\nkcm_socket = \(socket)\ndefault_ccache_name = KCM:\n", to: "system.conf")
        let variables = ["KRB5_CONFIG": "\(system):\(station.realm.configurationPath)"]
        let command = ["env", "-u", "KRB5CCNAME"] + words
        let notifications = try NotificationSocket(path: "\(station.directory)/notify")
        let server = ["ksso", "agent", "run", "--machine", "--socket", socket, "--tickets", "\(station.directory)/tickets"]
        _ = try await withDaemon(server, on: station, environment: ["NOTIFY_SOCKET": notifications.path]) { _ in
            try await notifications.wait(for: "READY=1")
        } _: {
            let result = try await station.run(command, environment: variables)
            #expect(result.exitStatus == 0 && !exists(environmentFile) && !exists(profileFile), "\(result)")
            let note = "The session needs no configuration, because a cache server of this machine keeps the tickets of all sessions. "
            #expect(result.errors == note + "To use an agent with caches of its own anyway: ksso configure session --install\n")
        }
        // If the server does not run, the session needs settings of its own.
        let later = try await station.run(command, environment: variables)
        #expect(later.exitStatus == 0 && exists(environmentFile) == !options.isEmpty, "\(later)")
    }

    @Test func `after an answer that is neither yes nor no, only these are asked for`() async throws {
        let command = "ksso setup --no-login \(try corporateProfile())"
        let end = try await Conversation.atTerminal(command, on: station) { terminal in
            for (question, answer) in [(Self.question, "what"), ("Answer y or n: ", "yep"), ("Answer y or n: ", "yes")] {
                _ = try await terminal.wait(for: question)
                #expect(!exists(environmentFile))
                try await terminal.type("\(answer)\n")
            }
        }
        #expect(end.status == 0 && exists(environmentFile), "\(end)")
        #expect(end.transcript.components(separatedBy: Self.question).count == 2, "the changes are printed once: \(end)")
    }

    @Test func `at a terminal, ksso setup --yes configures the session without asking`() async throws {
        let command = "ksso setup --no-login --yes \(try corporateProfile())"
        let end = try await Conversation.atTerminal(command, on: station) { _ in }
        #expect(end.status == 0 && !end.transcript.contains("?") && exists(profileFile), "\(end)")
    }

    @Test func `without a terminal, ksso setup configures the session only with --yes`() async throws {
        let file = try corporateProfile()
        let result = try await station.ksso("setup", file, "--no-login")
        let note =
            "The session is not configured, because there is no terminal to ask at. To change its files without a question: "
            + "ksso setup --yes; to see the changes first: ksso configure session\n"
        #expect(result == CommandResult(exitStatus: 0, output: "\(installedProfile): installed\n", errors: note))
        #expect(!exists(environmentFile) && !exists(profileFile))
        #expect(try await station.ksso("setup", "--no-login", "--yes").exitStatus == 0)
        #expect(exists(environmentFile) && exists(profileFile))
    }

    @Test func `ksso setup --no-session signs in and leaves the session unchanged`() async throws {
        let words = ["setup", try corporateProfile(), "--principal", "alice", "--password-stdin", "--no-session"]
        let result = try await station.run(["ksso"] + words, input: "secret\n")
        #expect(result.exitStatus == 0 && result.output.contains("alice@EXAMPLE.TEST is signed in until "), "\(result)")
        #expect(!result.errors.contains("session is not configured"), "\(result)")
        #expect(!exists(environmentFile) && !exists(profileFile))
    }

    /// The shell's profile ends with a line break or not, is empty, or does not exist.
    @Test(arguments: ["umask 077\n", "umask 077", "", nil])
    func `ksso setup --undo removes exactly what ksso setup installed`(content: String?) async throws {
        let file = try corporateProfile()
        try station.install(profile(hosts: ["other.test"]), as: "other.yaml")
        if let content { try station.write(content, to: ".bash_profile") }
        let before = try files()
        let shell = ["SHELL": "/bin/bash"]
        let setup = ["ksso", "setup", file, "--no-login", "--yes"]
        #expect(try await station.run(setup, environment: shell).exitStatus == 0)
        #expect(try files() != before)
        let result = try await station.run(["ksso", "setup", "--undo"], environment: shell)
        let path = content == nil ? "\(profileFile): removed" : "\(station.directory)/.bash_profile: the lines of ksso were removed"
        #expect(result == .done("\(environmentFile): removed\n\(path)\n\(installedProfile): removed\n"))
        #expect(try files() == before)
        let again = try await station.run(["ksso", "setup", "--undo"], environment: shell)
        #expect(again == .done("Nothing was removed: there is nothing that ksso setup installed.\n"))
    }

    @Test func `ksso setup --undo keeps a profile that was changed after its installation`() async throws {
        #expect(try await station.ksso("setup", try corporateProfile(), "--no-login", "--no-session").exitStatus == 0)
        let text = profile(hosts: ["new.test"])
        try text.write(toFile: installedProfile, atomically: true, encoding: .utf8)
        let advice = "To remove it: ksso profile remove corp.yaml\n"
        for _ in 1...2 {
            let result = try await station.ksso("setup", "--undo")
            #expect(result.exitStatus == 0 && result.output.isEmpty, "\(result)")
            #expect(result.errors == "\(installedProfile): kept, because it was changed after its installation. \(advice)")
        }
        #expect(try contents(installedProfile) == text)
    }

    /// The next session starts the agent, which moves the tickets of `ksso setup` from the default cache. A login may name that cache.
    @Test(arguments: [true, false]) func `after ksso setup, klist in the next session lists the tickets`(isCacheNamed: Bool) async throws {
        let folder = "\(station.directory)/xdg"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let system = try station.write("[libdefaults]\ndefault_ccache_name = \(station.cache)\n", to: "system.conf")
        let variables = ["XDG_RUNTIME_DIR": folder, "KRB5_CONFIG": "\(system):\(station.realm.configurationPath)"]
        let own = ["env", "-u", "KSSO_RUNTIME_DIR"] + (isCacheNamed ? [] : ["-u", "KRB5CCNAME"])
        try station.write("PATH=\(station.directory)/bin:$PATH\n", to: ".profile")
        let words = ["ksso", "setup", try corporateProfile(), "--principal", "alice", "--password-stdin", "--yes"]
        let result = try await station.run(own + words, input: "secret\n", environment: variables)
        #expect(result.exitStatus == 0, "\(result)")
        do {
            let list = try await station.run(own + ["sh", "-l", "-c", "klist"], environment: variables)
            #expect(list.output.hasPrefix("Ticket cache: KCM:"), "\(list)")
            #expect(list.output.contains("\nDefault principal: alice@EXAMPLE.TEST\n"), "\(list)")
        } catch {
            _ = try? await station.run(own + ["ksso", "agent", "stop"], environment: variables)
            throw error
        }
        #expect(try await station.run(own + ["ksso", "agent", "stop"], environment: variables).exitStatus == 0)
    }
}
