import Foundation
import HTTPNegotiate
import KerberosTesting
import KerberosTestingTraits
import SSOAgentClient
import SignOnPolicy
import TestSupport
import Testing

/// A running agent follows its profiles: it handles new hosts, ends the sessions of a removed realm, and ignores an invalid file.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/www.later.test"]), .timeLimit(.minutes(3)))
struct AgentProfileTests {
    let station: Workstation

    init() throws { station = try Workstation() }

    private var folder: String { "\(station.directory)/config/ksso" }
    private var file: String { "\(folder)/test.yaml" }
    private var client: AgentClient { AgentClient(socketPath: "\(station.runtime)/agent.sock") }
    private static let changed = "the profiles have changed. Active: "
    private static let gone =
        "no profile names the realm EXAMPLE.TEST any longer: its sessions end, except those that other programs started."

    /// The ways in which a profile that covers `.later.test` can be added.
    enum Way: String, CaseIterable {
        case rename, inPlace, newFile, newFolder, linkTarget, namedFile
    }

    @Test(arguments: Way.allCases)
    func `a running agent handles a host that is added to a profile`(way: Way) async throws {
        let first = profile(hosts: [".first.test"])
        let second = profile(hosts: [".first.test", ".later.test"])
        var arguments: [String] = []
        switch way {
        case .rename, .inPlace, .newFile: try station.install(first)
        case .newFolder: try FileManager.default.removeItem(atPath: folder)
        case .linkTarget:
            let target = try station.write(first, to: "target.yaml")
            try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: target)
        case .namedFile: arguments = ["--profile", try station.write(first, to: "named.yaml")]
        }
        try await station.withAgent(arguments) { agent in
            try await station.signIn()
            let client = client
            let url = try #require(URL(string: "https://www.later.test/"))
            if way != .newFolder { #expect(client.decision(for: url).plan == nil) }
            #expect(try await !isAnswered(url, by: client))
            switch way {
            case .rename, .newFolder:
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                try station.install(second)
            case .inPlace: try second.write(toFile: file, atomically: false, encoding: .utf8)
            case .newFile: try station.install(profile(hosts: [".later.test"]), as: "two.yaml")
            case .linkTarget: try second.write(toFile: "\(station.directory)/target.yaml", atomically: false, encoding: .utf8)
            case .namedFile: try station.write(second, to: "named.yaml")
            }
            try await agent.wait(for: Self.changed)
            #expect(try await isAnswered(url, by: client))
            // The existing client uses the new rules.
            #expect(client.decision(for: url).plan != nil)
            let explanation = try await client.explanation(for: url)
            #expect(explanation.outcome == "handled" && explanation.principal == "alice@EXAMPLE.TEST")
            if way != .namedFile { #expect(try await station.ksso("explain", url.absoluteString).exitStatus == 0) }
            let configuration = try String(contentsOfFile: "\(station.runtime)/krb5.conf", encoding: .utf8)
            if way == .newFolder { #expect(configuration.contains("default_realm = EXAMPLE.TEST"), "\(configuration)") }
        }
    }

    private func isAnswered(_ url: URL, by client: AgentClient) async throws -> Bool {
        if case .headers = try await client.beginAuthorization(with: .init(url: url)) { true } else { false }
    }

    @Test(arguments: [[], ["--system"], ["--profile"]])
    func `removing a realm's profile ends the sessions that ksso started in the realm`(arguments: [String]) async throws {
        let isNamed = arguments == ["--profile"]
        let text = profile(hosts: [".later.test"])
        let path = isNamed ? try station.write(text, to: "named.yaml") : try station.install(text)
        try await station.withAgent(isNamed ? ["--profile", path] : arguments) { agent in
            let client = client
            let events = client.events()
            let signedOut = Task {
                for try await event in events where event.kind == .signedOut { return event.principal }
                return nil
            }
            #expect(try await station.run(["ksso", "exec", "--", "kinit", "bob"], input: "secret\n").exitStatus == 0)
            try await station.signIn()
            let before = try await station.status().sessions
            #expect(Set(before.map(\.principal)) == ["alice@EXAMPLE.TEST", "bob@EXAMPLE.TEST"])
            let url = try #require(URL(string: "https://www.later.test/"))
            let held = try await client.beginAuthorization(with: .init(url: url, principal: "alice"))
            #expect(try await station.agentStatus().process.exchanges == 1)
            try FileManager.default.removeItem(atPath: path)
            try await agent.wait(for: Self.gone)
            #expect(try await signedOut.value == "alice@EXAMPLE.TEST")
            let after = try await station.status().sessions
            #expect(after.map(\.principal) == ["bob@EXAMPLE.TEST"] && after.map(\.acquiredBy) == ["other"])
            // An exchange that waits for a server's token contains a key, so it must end too.
            try await eventually { try await station.agentStatus().process.exchanges == 0 }
            withExtendedLifetime(held) {}
            // The removed profile does not affect later sign-ins.
            try await station.signIn()
            try station.install(profile(hosts: [".other.test"]), as: "other.yaml")
            if !isNamed { try await agent.wait(for: Self.changed) }
            #expect(try await station.status().sessions.count == 2)
        }
    }

    @Test(arguments: ["Hosts: [", "", "Realm: EXAMPLE.TEST", "chmod"])
    func `an invalid profile leaves its previous version active and ends no session`(text: String) async throws {
        try station.install(profile(hosts: [".first.test"]))
        try await station.withAgent { agent in
            try await station.signIn()
            if text == "chmod" {
                try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: file)
            } else {
                try text.write(toFile: file, atomically: false, encoding: .utf8)
            }
            try station.install(profile(hosts: [".later.test"]), as: "two.yaml")
            let line = try await agent.wait(for: "the agent uses its previous version")
            try await agent.wait(for: Self.changed)
            #expect(line.contains(file) && !line.contains(Self.changed) && !line.contains(Self.gone), "\(line)")
            let (first, later) = try (#require(URL(string: "https://www.first.test/")), #require(URL(string: "https://www.later.test/")))
            let client = client
            try await client.loadConfiguration()
            #expect(client.decision(for: first).plan != nil && client.decision(for: later).plan != nil)
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
            let status = try await station.ksso("agent", "status")
            #expect(status.output.contains("    last failure ") && status.output.contains("\(file): "), "\(status)")
            try station.install(profile(hosts: [".first.test", ".mended.test"]))
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
            try await agent.wait(for: Self.changed)
            try await client.loadConfiguration()
            let added = try #require(URL(string: "https://www.mended.test/"))
            #expect([first, later, added].allSatisfy { client.decision(for: $0).plan != nil })
            #expect(try await station.status().sessions.map(\.principal) == ["alice@EXAMPLE.TEST"])
            let recovered = try await station.ksso("agent", "status")
            #expect(!recovered.output.contains("last failure"), "\(recovered)")
        }
    }

    @Test func `a change to credentialBundleIdACL applies to the caches at once`() async throws {
        try station.install(profile())
        try await station.withAgent { agent in
            try await station.signIn()
            #expect(try await station.run(["ksso", "exec", "--", "klist"]).exitStatus == 0)
            try station.install(profile(data: ["credentialBundleIdACL: [/usr/bin/nobody-has-this]"]))
            try await agent.wait(for: Self.changed)
            let refused = try await station.run(["ksso", "exec", "--", "klist"])
            #expect(refused.exitStatus == 1 && !refused.output.contains("alice"), "\(refused)")
            try station.install(profile())
            try await agent.wait(for: Self.changed)
            #expect(try await station.run(["ksso", "exec", "--", "klist"]).exitStatus == 0)
        }
    }

    @Test func `SIGHUP makes a background agent reload its profiles`() async throws {
        try station.install(profile())
        try await station.withBackgroundAgent { result in
            #expect(result.exitStatus == 0)
            let log = "\(station.runtime)/agent.log"
            let process = try await station.agentStatus().process.processID
            kill(process, SIGHUP)
            try await eventually {
                try String(contentsOfFile: log, encoding: .utf8).contains("profiles were reloaded: they are unchanged.\n")
            }
            let status = try await station.ksso("agent", "status")
            #expect(status.output.contains("    profiles read ") && status.output.contains(": \(file)\n"), "\(status)")
            #expect(status.output.hasSuffix("    log: \(log)\n") && !status.output.contains("last failure"), "\(status)")
            #expect(try await station.agentStatus().process.processID == process)
        }
    }

    @Test(.enabled(if: UnwatchedFiles.arePossible, "this needs a user namespace"))
    func `SIGHUP reloads the profiles if inotify is unavailable`() async throws {
        try station.install(profile(hosts: [".first.test"]))
        // The agent gets its own session, because with the terminal of the test run SIGHUP would stop it.
        let command = ["setsid", "--wait"] + UnwatchedFiles.command(["ksso", "agent", "run"])
        _ = try await Conversation.with(command, on: station) { agent in
            try await eventually { UnixSocket.isServed("\(station.runtime)/agent.sock") }
            let process = try await station.agentStatus().process.processID
            defer { kill(process, SIGTERM) }
            try await agent.wait(for: "After a change, run: kill -HUP \(process)")
            try station.install(profile(hosts: [".later.test"]))
            kill(process, SIGHUP)
            try await agent.wait(for: Self.changed)
            let url = try #require(URL(string: "https://www.later.test/"))
            #expect(try await client.explanation(for: url).outcome == "handled")
        }
    }

    @Test func `SIGHUP stops an agent that runs at a terminal`() async throws {
        let command = "ksso agent run"
        let end = try await Conversation.atTerminal("\(command); echo ended $?", on: station) { _ in
            try await eventually { UnixSocket.isServed("\(station.runtime)/agent.sock") }
            kill(try await station.agentStatus().process.processID, SIGHUP)
        }
        #expect(end.transcript.contains("ended 0"), "\(end)")
    }
}

/// A private user namespace for a child process, in which the kernel permits no inotify instances.
private enum UnwatchedFiles {
    /// Whether the user that runs the tests can create such a namespace on this machine.
    static let arePossible: Bool = succeeds(command(["true"]))

    static func command(_ words: [String]) -> [String] {
        let script = "echo 0 > /proc/sys/user/max_inotify_instances && exec \"$@\""
        return ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"] + words
    }
}
