internal import ArgumentParser
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgent
internal import SSOAgentClient

/// `ksso agent import`: takes the tickets that a login brought into the agent.
struct AgentImport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Copy the tickets of a credential cache into the agent.",
        discussion: """
            For a cache that a login made, such as the one of pam_krb5 or the tickets that ssh delegates: KRB5CCNAME names it, and the \
            session's set-up runs this command. The cache itself stays as it is. A principal that is signed in by ksso login keeps that \
            ticket; earlier tickets of other programs are replaced.

            Example: ksso agent import FILE:/tmp/krb5cc_1000_x8Wq2p
            """
    )

    @Argument(help: ArgumentHelp("The cache; by default the one that KRB5CCNAME names.", valueName: "cache"))
    var cache: String?

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        guard let name = cache ?? environment["KRB5CCNAME"], !name.isEmpty else {
            throw CommandFailure(.usage, "no credential cache is named. Name one, or set KRB5CCNAME.")
        }
        let runtime = RuntimeDirectory(environment: environment)
        guard let socket = try await cacheSocket(of: runtime) else {
            throw CommandFailure(.failed, "no agent keeps tickets in \(runtime.path). Start one with: ksso agent run --background")
        }
        if let listener = await RunningAgent(runtime).silent() { throw CommandFailure(.failed, listener.silence) }
        let base = RealmConfiguration.Base.files(KerberosConfigurationFile.systemFiles(environment: environment))
        let source = RealmConfiguration(realm: "", base: base, defaultCacheName: name)
        let target = RealmConfiguration(realm: "", libdefaults: ["kcm_socket": socket], base: base, defaultCacheName: "KCM:")
        do {
            let copied = try await CacheImport(from: KerberosClient(source), to: KerberosClient(target), isLogin: true).run()
            for principal in copied { Console.print("The agent has the tickets of \(principal) now.") }
            if copied.isEmpty { Console.note("\(name): nothing was copied, because the agent's own tickets are valid for longer.") }
        } catch {
            throw CommandFailure(error, verbose: false)
        }
    }

    /// The agent's, which is waited for if it is lost.
    private func cacheSocket(of runtime: RuntimeDirectory) async throws(CommandFailure) -> String? {
        do {
            return try await runtime.findCacheSocket()
        } catch {
            throw CommandFailure(error, verbose: false)
        }
    }
}
