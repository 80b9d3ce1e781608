internal import ArgumentParser
internal import CommandSupport
internal import Foundation
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgentClient
internal import SignOnPolicy
internal import SystemSupport

struct Exec: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exec",
        abstract: "Run a command that shares the tickets, with KRB5_CONFIG and KRB5CCNAME set.",
        usage: "ksso exec [--file] [--profile <file>] [--] COMMAND…",
        discussion: """
            Java and Go support only caches of the type FILE. With --file the command has its own cache, and ksso synchronizes its \
            ticket-granting ticket with the session's while the command runs, including sign-in, renewal and sign-out. Java's \
            HttpURLConnection needs no options if /etc/krb5.conf defines the realm; otherwise it needs -Djava.security.krb5.conf=FILE, \
            because Java does not read KRB5_CONFIG. Other users of JGSS also need -Djavax.security.auth.useSubjectCredsOnly=false.

            Programs that include Heimdal's Kerberos, such as samba-tool, ldbsearch and kgetcred, look for an agent only at the system's \
            own socket: run them with --file too.

            EXAMPLES:
              ksso exec curl --negotiate -u : https://intranet.corp.example/
              ksso exec --file samba-tool user list -H ldap://dc1.corp.example --use-kerberos=required
            """
    )

    @Flag(help: "Give the command a private cache of the type FILE, for programs that support no other type: Java, Go, Samba's tools.")
    var file = false

    @Argument(
        parsing: .captureForPassthrough,
        help: ArgumentHelp("The command and its arguments. All options after the command belong to it.", valueName: "command")
    )
    var words: [String] = []
    @OptionGroup var common: CommonOptions

    /// The command without the `--` that may precede it.
    private var command: [String] { words.first == "--" ? Array(words.dropFirst()) : words }

    func validate() throws {
        // The first word that is not an option of this command may be one that ArgumentParser usually handles itself.
        switch words.first {
        case "-h", "--help", "--version": return
        case let word? where word.hasPrefix("-") && word != "--":
            throw ValidationError("Unknown option '\(word)'")
        default: break
        }
        if command.isEmpty { throw ValidationError("a command is required: ksso exec COMMAND…") }
    }

    func run() async throws {
        switch words.first {
        case "-h", "--help": throw CleanExit.helpRequest(Self.self)
        case "--version": throw CleanExit.message(ProgramVersion.current)
        default: break
        }
        let given = OpenDescriptors.current
        try await common.engine.run { sso in
            var environment = ProcessInfo.processInfo.environment
            for (name, value) in try await KerberosEnvironment(sso, environment: environment).variables { environment[name] = value }
            let cache = file ? try await privateCache(sso, environment: environment) : nil
            if let cache { environment["KRB5CCNAME"] = "FILE:\(cache.path)" }
            given.closeOthersOnReplacement()
            let failure = ProgramSearch(path: environment["PATH"]).becomeProgram(command, environment: environment)
            cache?.remove()
            throw failure
        }
    }

    /// Creates a private cache for the command and starts its keeper.
    private func privateCache(_ sso: SingleSignOn, environment: [String: String]) async throws -> PrivateCache {
        let runtime = RuntimeDirectory(environment: environment)
        try runtime.makePrivate()
        guard let process = RunningProcess.current else { throw CommandFailure(.failed, "/proc is not mounted. Mount it, then try again.") }
        let cache = PrivateCache(of: process, in: runtime)
        do {
            _ = try await cache.update(from: sso, last: nil)
            try CacheKeeper.start(for: process, common)
        } catch {
            cache.remove()
            throw error
        }
        return cache
    }
}

struct Env: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "env",
        abstract: "Print shell exports that let standard Kerberos programs share the tickets.",
        discussion: """
            The syntax is that of fish if fish runs the command, and otherwise that of sh, bash and zsh.

            EXAMPLES:
              eval "$(ksso env)"
              ksso env | source      # in fish
            """
    )

    @Option(help: ArgumentHelp("Print the syntax of this shell: sh, bash, zsh or fish.", valueName: "name"))
    var shell: ShellSyntax?
    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.engine.run { sso in
            let given = ProcessInfo.processInfo.environment
            let environment = try await KerberosEnvironment(sso, environment: given)
            Console.printExports(environment.variables, for: shell ?? ShellSyntax.ofCaller)
        }
    }
}

extension ShellSyntax: ExpressibleByArgument {
    package static var allValueStrings: [String] { ["sh", "bash", "zsh", "fish"] }
    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
}

/// The environment variables by which other Kerberos programs share the tickets, and the configuration file that they name.
struct KerberosEnvironment {
    let variables: [(name: String, value: String)]

    /// Writes the configuration file and determines the cache of the default session.
    init(_ sso: SingleSignOn, environment: [String: String]) async throws {
        let cacheSocket = RuntimeDirectory(environment: environment).cacheSocket
        let realm = try await sso.names.defaultRealm()
        let sessions = try await sso.sessions().sessions
        let session = sessions.first { $0.realm == realm && $0.isDefault } ?? sessions.first(where: \.isDefault)
        var variables: [(name: String, value: String)] = []
        if !sso.policy.configurations.isEmpty || cacheSocket != nil {
            // Most programs send no channel bindings. A server that checks them would refuse tokens that claim support for them.
            let file = KerberosConfigurationFile(
                sso.policy.configurations,
                defaultRealm: realm,
                bindsTokens: false,
                cacheSocket: cacheSocket
            )
            variables.append(("KRB5_CONFIG", try file.install(environment: environment)))
        }
        if cacheSocket != nil {
            // The collection, so that later sign-ins and switches of the default session apply as well.
            variables.append(("KRB5CCNAME", "KCM:"))
        } else if let session {
            variables.append(("KRB5CCNAME", session.cache.rawValue))
        }
        self.variables = variables
    }

    /// Whether programs started with this environment use the caches that the agent serves at a socket.
    static func reaches(_ cacheSocket: String, environment: [String: String]) -> Bool {
        let name = environment["KRB5CCNAME"] ?? ""
        guard name.isEmpty || name.hasPrefix("KCM:") else { return false }
        return (environment["KRB5_CONFIG"] ?? "").split(separator: ":").contains { path in
            (try? String(contentsOfFile: String(path), encoding: .utf8))?.contains("kcm_socket = \(cacheSocket)\n") == true
        }
    }
}
