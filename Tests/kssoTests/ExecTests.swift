import Foundation
import KerberosTesting
import Testing

/// `env` and `exec`: stock programs share the tickets.
@Suite(.protectedWeb)
struct ExecTests {
    let station: Workstation
    let server: ProtectedWebServer

    init() throws {
        station = try Workstation()
        server = try #require(WebTrait.server)
    }

    /// The file that `env` and `exec` write; its name depends on its content.
    /// The file for other programs: it has a default realm, unlike the one that the command makes for itself.
    private func generatedFile() throws -> String {
        let folder = "\(station.directory)/run"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("krb5-") && $0.hasSuffix(".conf") }
        let files = names.map { "\(folder)/\($0)" }
        return try #require(try files.first { try String(contentsOfFile: $0, encoding: .utf8).contains("default_realm") })
    }

    private func configuration() throws -> String { "\(try generatedFile()):\(station.realm.configurationPath)" }

    @Test func `the variables`() async throws {
        #expect(try await station.ksso("env") == .done(""))
        try await station.signIn()
        #expect(try await station.ksso("env") == .done("export KRB5CCNAME='\(station.cache)'\n"))
        try station.install(profile())
        let result = try await station.ksso("env")
        #expect(result == .done("export KRB5_CONFIG='\(try configuration())'\nexport KRB5CCNAME='\(station.cache)'\n"))
    }

    @Test func `a shell takes the variables`() async throws {
        try station.install(profile())
        try await station.signIn()
        let command = "eval \"$(ksso env)\"; echo \"$KRB5_CONFIG $KRB5CCNAME\"; klist -s"
        let result = try await station.run(["sh", "-c", command])
        #expect(result == .done("\(try configuration()) \(station.cache)\n"))
    }

    @Test func `words are quoted for the shell`() async throws {
        let cache = "FILE:\(station.directory)/it's $HOME `here`"
        let result = try await station.ksso(
            "login",
            "alice",
            "--password-stdin",
            "-q",
            input: "secret\n",
            environment: ["KRB5CCNAME": cache]
        )
        #expect(result == .done(""))
        let shell = try await station.run(
            ["sh", "-c", "eval \"$(ksso env)\"; printf %s \"$KRB5CCNAME\""],
            environment: ["KRB5CCNAME": cache]
        )
        #expect(shell == .done(cache))
    }

    @Test func `the configuration says what the profile says`() async throws {
        try station.install(
            profile(data: ["domainRealmMapping: { EXAMPLE.TEST: [localhost, .corp.test] }", "preferredKDCs: [tcp/127.0.0.1:88]"])
        )
        #expect(try await station.ksso("env").exitStatus == 0)
        let text = try String(contentsOfFile: generatedFile(), encoding: .utf8)
        for line in ["default_realm = EXAMPLE.TEST", "kdc = 127.0.0.1:88", "localhost = EXAMPLE.TEST", ".corp.test = EXAMPLE.TEST"] {
            #expect(text.contains(line), "\(text)")
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(station.directory)/run")
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o700)
    }

    /// ksso itself binds its tokens and says so; of the programs that it starts few do, and a server that checks bindings would refuse what
    /// claims to know them and carries none.
    @Test func `only our own tokens claim to know channel bindings`() async throws {
        try station.install(profile())
        #expect(try await station.ksso("env").exitStatus == 0)
        let text = try String(contentsOfFile: generatedFile(), encoding: .utf8)
        #expect(!text.contains("client_aware_channel_bindings"), "\(text)")
        #expect(!text.contains("forwardable = true"), "no profile here delegates")
        let files = try FileManager.default.contentsOfDirectory(atPath: "\(station.directory)/run").map { "\(station.directory)/run/\($0)" }
        let own = try #require(files.first { (try? $0 == generatedFile()) == false })
        let lines = try String(contentsOfFile: own, encoding: .utf8).split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        let place = try #require(lines.firstIndex(of: "client_aware_channel_bindings = true"))
        #expect(lines[..<place].contains("[libdefaults]") && !lines[..<place].contains("[realms]"))
    }

    /// `kinit` under `ksso exec` gets a forwardable ticket only in a realm where the profile delegates.
    @Test(arguments: [
        ("EXAMPLE.TEST", "DelegationHosts", true), ("EXAMPLE.TEST", "UnconditionalDelegationHosts", true),
        ("OTHER.TEST", "DelegationHosts", false), ("EXAMPLE.TEST", "PreemptiveHosts", false),
    ])
    func `tickets are forwardable where the profile delegates`(realm: String, key: String, isForwardable: Bool) async throws {
        try station.install(profile())
        try station.install("\(key): [files.test]\n\(profile(hosts: ["files.test"], realm: realm))", as: "other.yaml")
        let kinit = try await station.ksso("exec", "--", "kinit", "alice@EXAMPLE.TEST", input: "secret\n")
        #expect(kinit.exitStatus == 0, "\(kinit)")
        let flags = try await station.run(["klist", "-f"])
        #expect(flags.output.contains("Flags: F") == isForwardable, "\(flags.output)")
    }

    @Test func `klist sees the tickets`() async throws {
        try station.install(profile())
        try await station.signIn()
        let result = try await station.ksso("exec", "--", "klist")
        #expect(result.output.contains("Ticket cache: \(station.cache)\nDefault principal: alice@EXAMPLE.TEST\n"))
        #expect(result.exitStatus == 0)
    }

    /// What curl gets for itself, ksso then has: one cache.
    @Test func `curl shares the tickets`() async throws {
        try station.install(profile())
        try await station.signIn()
        let page = "\(server.url)/hello"
        let result = try await station.ksso("exec", "--", "curl", "-sS", "--negotiate", "-u", ":", page)
        #expect(result == .done("Hello alice@EXAMPLE.TEST\n"))
        #expect(try await station.status().sessions.first?.services.map(\.service) == ["HTTP/localhost@EXAMPLE.TEST"])
        #expect(try await station.ksso("fetch", page) == .done("Hello alice@EXAMPLE.TEST\n"))
    }

    @Test func `the default of two principals is shared`() async throws {
        try station.install(profile())
        try await station.signIn("alice")
        try await station.signIn("bob")
        let page = "\(server.url)/hello"
        let curl = ["ksso", "exec", "--", "curl", "-sS", "--negotiate", "-u", ":", page]
        #expect(try await station.run(curl) == .done("Hello bob@EXAMPLE.TEST\n"))
        #expect(try await station.ksso("switch", "alice").exitStatus == 0)
        #expect(try await station.run(curl) == .done("Hello alice@EXAMPLE.TEST\n"))
    }

    @Test(arguments: [0, 1, 7, 130, 255])
    func `the status is the commands`(status: Int) async throws {
        let result = try await station.ksso("exec", "--", "sh", "-c", "echo out; echo err >&2; exit \(status)")
        #expect(result == CommandResult(exitStatus: status, output: "out\n", errors: "err\n"))
    }

    @Test func `arguments and input reach the command`() async throws {
        let result = try await station.ksso("exec", "--", "sh", "-c", "printf '[%s]' \"$@\"; cat", "sh", "a b", "--json", "", input: "in")
        #expect(result == .done("[a b][--json][]in"))
    }

    @Test func `a signal ends the command`() async throws {
        #expect(try await station.ksso("exec", "--", "sh", "-c", "kill -TERM $$").exitStatus == 143)
    }

    /// What the Swift runtime or ksso ignore or block is no business of the command.
    @Test func `signals are as they were`() async throws {
        let sed = ["sed", "-nE", "s/^Sig(Blk|Ign):.*(.{8})$/\\1 \\2/p", "/proc/self/status"]
        let direct = try await station.run(sed)
        let result = try await station.run(["ksso", "exec", "--"] + sed)
        for (line, expected) in zip(result.output.split(separator: "\n"), direct.output.split(separator: "\n")) {
            // The 31 signals that have names; the next ones are the C library's own.
            let masks = [line, expected].map { (UInt32($0.suffix(8), radix: 16) ?? 0) & 0x7FFF_FFFF }
            #expect(masks[0] == masks[1], "\(line)")
        }
        #expect(result.output.contains("Blk") && result.output.contains("Ign"))
    }

    /// With libkrb5's trace too, whose file the library would leave open for the command.
    @Test func `descriptors are as they were`() async throws {
        let list = ["sh", "-c", "echo ${KRB5_TRACE:?}; ls /proc/$$/fd"]
        let direct = try await station.run(list)
        #expect(direct.exitStatus == 0)
        #expect(try await station.run(["ksso", "exec", "--"] + list) == direct)
        // What the caller opens for the command stays open.
        let result = try await station.run(["sh", "-c", "exec 9>/dev/null; ksso exec -- test -e /proc/self/fd/9"])
        #expect(result == .done(""))
    }

    @Test func `a command that is not there`() async throws {
        #expect(try await station.ksso("exec", "--", "no-such-program") == .failure(127, "no-such-program: No such file or directory"))
        #expect(try await station.ksso("exec", "--", "/no/such") == .failure(127, "/no/such: No such file or directory"))
        let file = try station.write("text", to: "file")
        #expect(try await station.ksso("exec", "--", file) == .failure(126, "\(file): Permission denied"))
        let usage = try await station.ksso("exec")
        #expect(usage.exitStatus == 64)
        #expect(usage.errors.contains("a command is required: ksso exec -- COMMAND…"))
    }

    @Test func `exec within exec`() async throws {
        try station.install(profile())
        try await station.signIn()
        let result = try await station.ksso("exec", "--", "ksso", "exec", "--", "sh", "-c", "echo $KRB5_CONFIG; klist -s")
        #expect(result == .done("\(try configuration())\n"))
    }
}
