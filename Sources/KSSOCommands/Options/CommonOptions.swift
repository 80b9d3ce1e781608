internal import ArgumentParser
internal import ExtensionProfile
internal import Foundation
internal import HTTPNegotiate
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgentClient

/// What every command takes.
struct CommonOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("Use this profile instead of those installed; may be given several times.", valueName: "file"))
    var profile: [String] = []

    @Flag(name: [.long, .short], help: "Say more; twice, show libkrb5's trace.")
    var verbose: Int

    var isVerbose: Bool { verbose > 0 }

    /// Opens the profiles and the engine; doubts about profiles go to standard error.
    ///
    /// - Parameters:
    ///   - armorCache: The cache of the ticket that protects sign-ins.
    ///   - bindsTokens: Whether the command binds each token that goes over https.
    func open(
        prompter: (any Prompter)? = nil,
        armorCache: String? = nil,
        bindsTokens: Bool = true
    ) async throws -> SingleSignOn {
        var settings = settings
        settings.prompter = prompter
        settings.armorCache = armorCache.map(CredentialCacheName.init(rawValue:))
        let runtime = RuntimeDirectory(environment: settings.environment)
        PrivateCache.removeAbandoned(in: runtime)
        runtime.removeAbandonedConfiguration()
        let sso = try await SingleSignOn(.automatic(profiles: profile), settings: settings)
        for warning in sso.warnings { Console.report("warning: \(warning.message)") }
        configureProcess(for: sso, bindsTokens: bindsTokens, cacheSocket: runtime.cacheSocket)
        return sso
    }

    /// Opens the engine over profiles that were found already. Nothing is removed or made anew but the process's own krb5.conf.
    func open(_ profiles: [Profile]) async throws -> SingleSignOn {
        let cacheSocket = RuntimeDirectory(environment: settings.environment).cacheSocket
        let sso = try await SingleSignOn(.inProcess(profiles), settings: settings)
        configureProcess(for: sso, bindsTokens: true, cacheSocket: cacheSocket)
        return sso
    }

    private var settings: SingleSignOn.Settings {
        var settings = SingleSignOn.Settings()
        settings.secretStore = .automatic
        switch verbose {
        case 0: break
        // Of the trace what this project itself says: which KDCs are asked.
        case 1: settings.trace = { line in if line.hasPrefix("KDCs of ") { Console.note(line.trimmingCharacters(in: .newlines)) } }
        default: settings.trace = { line in Console.note("krb5: \(line.trimmingCharacters(in: .newlines))") }
        }
        return settings
    }

    /// GSSAPI reads its settings for channel bindings and delegation in the process's own krb5.conf.
    ///
    /// Before the first call of libkrb5, while no other thread looks at the environment. Where the file can't be written a ticket is as
    /// good as a stock program's, and `ksso explain` says what is missing.
    private func configureProcess(for sso: SingleSignOn, bindsTokens: Bool, cacheSocket: String?) {
        guard !sso.kerberos.policy.configurations.isEmpty || cacheSocket != nil else { return }
        let file = KerberosConfigurationFile(
            sso.kerberos.policy.configurations,
            defaultRealm: nil,
            bindsTokens: bindsTokens,
            cacheSocket: cacheSocket
        )
        guard let value = try? file.install(environment: ProcessInfo.processInfo.environment) else { return }
        setenv("KRB5_CONFIG", value, 1)
    }

    /// Runs a command's work; every error becomes one line and a status.
    func run(
        prompter: (any Prompter)? = nil,
        armorCache: String? = nil,
        bindsTokens: Bool = true,
        _ body: (SingleSignOn) async throws -> Void
    ) async throws {
        do {
            try await body(try await open(prompter: prompter, armorCache: armorCache, bindsTokens: bindsTokens))
        } catch let exit as ExitCode {
            throw exit
        } catch {
            throw CommandFailure(error, verbose: isVerbose).naming(RuntimeDirectory(environment: settings.environment).keptTickets)
        }
    }
}

extension CommandFailure {
    /// The failure with a line on the tickets that an agent left, if those are what the command did not find.
    fileprivate func naming(_ kept: KeptTickets?) -> CommandFailure {
        guard let kept, status == .notSignedIn, !message.isEmpty, message != kept.sentence else { return self }
        return CommandFailure(status, message, details: details + [kept.note])
    }
}

/// A URL for a message: without the user and the password that it may hold.
func withoutUser(_ url: String) -> String { ExplanationDocument.withoutUser(url) }

/// A URL as it was typed: held to the strict rules before anything else sees it.
func checkedURL(_ text: String) throws -> URL {
    do {
        _ = try Origin(url: text)
    } catch {
        throw CommandFailure(.usage, "\(error.message)")
    }
    guard let url = URL(string: text) else { throw CommandFailure(.usage, "this is not a URL.") }
    return url
}
