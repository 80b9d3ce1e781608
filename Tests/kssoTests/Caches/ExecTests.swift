import Foundation
import KerberosTesting
import Testing

/// `ksso env` and `ksso exec`, with which other programs use the tickets and the configuration of ksso.
@Suite(.protectedWeb)
struct ExecTests {
    let station: Workstation
    let server: ProtectedWebServer

    init() throws {
        station = try Workstation()
        server = try #require(WebTrait.server)
    }

    /// The krb5.conf that `env` and `exec` write for other programs. Its name depends on its content.
    ///
    /// Unlike the file that ksso writes for itself, it has a default realm.
    private func generatedFile() throws -> String {
        let folder = "\(station.directory)/run"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("krb5-") && $0.hasSuffix(".conf") }
        let files = names.map { "\(folder)/\($0)" }
        return try #require(try files.first { try String(contentsOfFile: $0, encoding: .utf8).contains("default_realm") })
    }

    private func configuration() throws -> String { "\(try generatedFile()):\(station.realm.configurationPath)" }

    @Test func `ksso env exports KRB5CCNAME if signed in and KRB5_CONFIG if a profile is installed`() async throws {
        #expect(try await station.ksso("env") == .done(""))
        try await station.signIn()
        #expect(try await station.ksso("env") == .done("export KRB5CCNAME='\(station.cache)'\n"))
        try station.install(profile())
        let result = try await station.ksso("env")
        #expect(result == .done("export KRB5_CONFIG='\(try configuration())'\nexport KRB5CCNAME='\(station.cache)'\n"))
    }

    @Test func `a shell can evaluate the output of ksso env`() async throws {
        try station.install(profile())
        try await station.signIn()
        let command = "eval \"$(ksso env)\"; echo \"$KRB5_CONFIG $KRB5CCNAME\"; klist -s"
        let result = try await station.run(["sh", "-c", command])
        #expect(result == .done("\(try configuration()) \(station.cache)\n"))
    }

    @Test func `ksso env quotes a cache name that contains shell metacharacters`() async throws {
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

    @Test(arguments: ["fish", "/usr/bin/fish"])
    func `for fish, ksso env prints the commands of fish`(shell: String) async throws {
        let cache = "FILE:\(station.directory)/it's a\\b"
        let variables = ["KRB5CCNAME": cache]
        let login = ["login", "alice", "--password-stdin", "-q"]
        #expect(try await station.run(["ksso"] + login, input: "secret\n", environment: variables) == .done(""))
        let expected = "set -gx KRB5CCNAME 'FILE:\(station.directory)/it\\'s a\\\\b';\n"
        #expect(try await station.run(["ksso", "env", "--shell", shell], environment: variables) == .done(expected))
    }

    private static let hasFish = (try? Program.path(of: "fish")) != nil

    @Test(.enabled(if: hasFish, "fish is not installed"), arguments: ["ksso env | source", "eval \"$(ksso env)\"", "eval (ksso env)"])
    func `fish can evaluate the output of ksso env`(command: String) async throws {
        try station.install(profile())
        let cache = "FILE:\(station.directory)/it's $HOME a\\b\\"
        let variables = ["KRB5CCNAME": cache]
        let login = ["login", "alice", "--password-stdin", "-q"]
        #expect(try await station.run(["ksso"] + login, input: "secret\n", environment: variables) == .done(""))
        let script = "\(command); printf '%s\\n' $KRB5_CONFIG $KRB5CCNAME; klist -s"
        let result = try await station.run(["fish", "--no-config", "-c", script], environment: variables)
        #expect(result == .done("\(try configuration())\n\(cache)\n"))
    }

    /// `SHELL` names the user's login shell, also in scripts of other shells. The kernel names a script's process after the script.
    @Test func `a script of sh gets the syntax of sh if its user's login shell is fish`() async throws {
        try await station.signIn()
        let file = try station.write("#!/bin/sh\neval \"$(ksso env)\"; echo \"$KRB5CCNAME\"\n", to: "deploy")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file)
        #expect(try await station.run([file], environment: ["SHELL": "/usr/bin/fish"]) == .done("\(station.cache)\n"))
        let script = "eval \"$(ksso env)\"; echo \"$KRB5CCNAME\""
        #expect(try await station.run(["sh", "-c", script], environment: ["SHELL": "/usr/bin/fish"]) == .done("\(station.cache)\n"))
    }

    @Test func `ksso env refuses a shell that it does not know`() async throws {
        let result = try await station.ksso("env", "--shell", "tcsh")
        #expect(result.exitStatus == 64 && result.errors.contains("sh, bash, zsh"), "\(result)")
    }

    @Test func `the generated krb5.conf has the realm, KDCs and host mappings of the profile`() async throws {
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

    /// ksso binds its tokens to the TLS channel and declares so. Few of the programs that it starts do, and a server that checks channel
    /// bindings would reject a token that declares support for them but carries none.
    @Test func `only ksso's own krb5.conf sets client_aware_channel_bindings`() async throws {
        try station.install(profile())
        #expect(try await station.ksso("env").exitStatus == 0)
        let text = try String(contentsOfFile: generatedFile(), encoding: .utf8)
        #expect(!text.contains("client_aware_channel_bindings"), "\(text)")
        #expect(!text.contains("forwardable = true"), "no installed profile delegates")
        let files = try FileManager.default.contentsOfDirectory(atPath: "\(station.directory)/run").map { "\(station.directory)/run/\($0)" }
        let own = try #require(files.first { (try? $0 == generatedFile()) == false })
        let lines = try String(contentsOfFile: own, encoding: .utf8).split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        let place = try #require(lines.firstIndex(of: "client_aware_channel_bindings = true"))
        #expect(lines[..<place].contains("[libdefaults]") && !lines[..<place].contains("[realms]"))
    }

    /// A profile that delegates in another realm does not count.
    @Test(arguments: [
        ("EXAMPLE.TEST", "DelegationHosts", true), ("EXAMPLE.TEST", "UnconditionalDelegationHosts", true),
        ("OTHER.TEST", "DelegationHosts", false), ("EXAMPLE.TEST", "PreemptiveHosts", false),
    ])
    func `a profile that delegates makes the tickets of kinit forwardable`(realm: String, key: String, isForwardable: Bool) async throws {
        try station.install(profile())
        try station.install("\(key): [files.test]\n\(profile(hosts: ["files.test"], realm: realm))", as: "other.yaml")
        let kinit = try await station.ksso("exec", "--", "kinit", "alice@EXAMPLE.TEST", input: "secret\n")
        #expect(kinit.exitStatus == 0, "\(kinit)")
        let flags = try await station.run(["klist", "-f"])
        #expect(flags.output.contains("Flags: F") == isForwardable, "\(flags.output)")
    }

    @Test func `klist under ksso exec lists the tickets of ksso login`() async throws {
        try station.install(profile())
        try await station.signIn()
        let result = try await station.ksso("exec", "--", "klist")
        #expect(result.output.contains("Ticket cache: \(station.cache)\nDefault principal: alice@EXAMPLE.TEST\n"))
        #expect(result.exitStatus == 0)
    }

    /// ksso finds the service ticket that curl requested, because both use one cache.
    @Test func `curl under ksso exec shares its service tickets with ksso fetch`() async throws {
        try station.install(profile())
        try await station.signIn()
        let page = "\(server.url)/hello"
        let result = try await station.ksso("exec", "--", "curl", "-sS", "--negotiate", "-u", ":", page)
        #expect(result == .done("Hello alice@EXAMPLE.TEST\n"))
        #expect(try await station.status().sessions.first?.services.map(\.service) == ["HTTP/localhost@EXAMPLE.TEST"])
        #expect(try await station.ksso("fetch", page) == .done("Hello alice@EXAMPLE.TEST\n"))
    }

    @Test func `ksso switch changes the principal that curl uses under ksso exec`() async throws {
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
    func `ksso exec exits with the status of its command`(status: Int) async throws {
        let result = try await station.ksso("exec", "--", "sh", "-c", "echo out; echo err >&2; exit \(status)")
        #expect(result == CommandResult(exitStatus: status, output: "out\n", errors: "err\n"))
    }

    @Test func `ksso exec passes arguments and standard input to its command unchanged`() async throws {
        let result = try await station.ksso("exec", "--", "sh", "-c", "printf '[%s]' \"$@\"; cat", "sh", "a b", "--json", "", input: "in")
        #expect(result == .done("[a b][--json][]in"))
    }

    @Test func `ksso exec needs no --, and leaves the options after the command to it`() async throws {
        let print = ["sh", "-c", "printf '[%s]' \"$@\"", "sh"]
        let options = ["--file", "-v", "--profile", "/nonexistent", "--help", "--version", "--", "--nonsense"]
        let expected = options.map { "[\($0)]" }.joined()
        #expect(try await station.run(["ksso", "exec"] + print + options) == .done(expected))
        #expect(try await station.run(["ksso", "exec", "--"] + print + options) == .done(expected))
        let profile = try station.install(profile())
        let own = try await station.run(["ksso", "exec", "--profile", profile, "--file", "sh", "-c", "echo $KRB5CCNAME $0", "-x"])
        #expect(own.output.hasPrefix("FILE:\(station.directory)/run/") && own.output.hasSuffix(" -x\n"), "\(own)")
        let wrong = try await station.ksso("exec", "--nonsense", "true")
        #expect(wrong.exitStatus == 64 && wrong.errors.hasPrefix("Error: Unknown option '--nonsense'\n"), "\(wrong)")
        #expect(try await station.ksso("exec", "--").exitStatus == 64)
        #expect(try await station.ksso("exec", "--version") == station.ksso("--version"))
    }

    @Test func `ksso exec exits with status 143 if SIGTERM terminates its command`() async throws {
        #expect(try await station.ksso("exec", "--", "sh", "-c", "kill -TERM $$").exitStatus == 143)
    }

    /// The Swift runtime and ksso may block or ignore signals, which the command must not inherit.
    @Test func `ksso exec leaves the blocked and ignored signals of its command unchanged`() async throws {
        let sed = ["sed", "-nE", "s/^Sig(Blk|Ign):.*(.{8})$/\\1 \\2/p", "/proc/self/status"]
        let direct = try await station.run(sed)
        let result = try await station.run(["ksso", "exec", "--"] + sed)
        for (line, expected) in zip(result.output.split(separator: "\n"), direct.output.split(separator: "\n")) {
            // Only the 31 named signals, because the C library uses the next ones itself.
            let masks = [line, expected].map { (UInt32($0.suffix(8), radix: 16) ?? 0) & 0x7FFF_FFFF }
            #expect(masks[0] == masks[1], "\(line)")
        }
        #expect(result.output.contains("Blk") && result.output.contains("Ign"))
    }

    /// This includes the file of libkrb5's trace, which the library would leave open in the command.
    @Test func `ksso exec adds no file descriptors to its command and closes none`() async throws {
        let list = ["sh", "-c", "echo ${KRB5_TRACE:?}; ls /proc/$$/fd"]
        let direct = try await station.run(list)
        #expect(direct.exitStatus == 0)
        #expect(try await station.run(["ksso", "exec", "--"] + list) == direct)
        // A descriptor that the caller opened for the command stays open.
        let result = try await station.run(["sh", "-c", "exec 9>/dev/null; ksso exec -- test -e /proc/self/fd/9"])
        #expect(result == .done(""))
    }

    @Test func `ksso exec exits with 127 if the command is missing and 126 if it cannot be run`() async throws {
        #expect(try await station.ksso("exec", "--", "no-such-program") == .failure(127, "no-such-program: No such file or directory"))
        #expect(try await station.ksso("exec", "--", "/no/such") == .failure(127, "/no/such: No such file or directory"))
        let file = try station.write("text", to: "file")
        #expect(try await station.ksso("exec", "--", file) == .failure(126, "\(file): Permission denied"))
        let usage = try await station.ksso("exec")
        #expect(usage.exitStatus == 64)
        #expect(usage.errors.contains("a command is required: ksso exec COMMAND…"))
    }

    @Test func `ksso exec inside ksso exec sets the same configuration`() async throws {
        try station.install(profile())
        try await station.signIn()
        let result = try await station.ksso("exec", "--", "ksso", "exec", "--", "sh", "-c", "echo $KRB5_CONFIG; klist -s")
        #expect(result == .done("\(try configuration())\n"))
    }
}
