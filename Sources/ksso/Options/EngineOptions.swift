internal import ActiveDirectory
internal import ArgumentParser
internal import CommandSupport
internal import ExtensionProfile
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgentClient
internal import SystemSupport
internal import TLSChannelBinding

/// How a command opens the profiles and the engine.
struct EngineOptions {
    /// The profiles to use instead of the installed ones; empty uses those.
    var profiles: [String] = []
    /// 0 prints no trace, 1 the KDCs that are contacted, and 2 libkrb5's trace.
    var verbosity = 0

    private var isVerbose: Bool { verbosity > 0 }

    /// Opens the profiles and the engine, and prints warnings about profiles to standard error.
    ///
    /// - Parameters:
    ///   - armorCache: The name of the cache whose ticket armors sign-ins (FAST).
    ///   - bindsTokens: Whether the command binds each token that it sends over https.
    func open(
        prompter: (any Prompter)? = nil,
        armorCache: String? = nil,
        bindsTokens: Bool = true
    ) async throws -> SingleSignOn {
        var settings = settings
        settings.prompter = prompter
        settings.armorCache = armorCache.map(CredentialCacheName.init(rawValue:))
        let runtime = RuntimeDirectory(environment: settings.environment)
        // An agent there is ignored.
        if let refusal = PrivateDirectory(path: runtime.path).refusal { Console.report("warning: \(refusal)") }
        PrivateCache.removeAbandoned(in: runtime)
        runtime.removeAbandonedConfiguration()
        let sso = try await SingleSignOn(.automatic(profiles: profiles), settings: settings)
        // Only an administrator can act on the signer, and ksso setup and the doctor warn of it.
        for warning in sso.warnings where warning.code != .untrustedSigner { Console.report("warning: \(warning.message)") }
        configureProcess(for: sso, bindsTokens: bindsTokens, cacheSocket: runtime.cacheSocket)
        return sso
    }

    /// Opens the engine with profiles that were already found. It writes and removes no files except the process's own krb5.conf.
    func open(_ profiles: [Profile]) async throws -> SingleSignOn {
        let cacheSocket = RuntimeDirectory(environment: settings.environment).cacheSocket
        let sso = try await SingleSignOn(.inProcess(profiles), settings: settings)
        configureProcess(for: sso, bindsTokens: true, cacheSocket: cacheSocket)
        return sso
    }

    /// Opens the profiles and the engine again in a process that runs for a long time, because an agent has started or stopped, or the
    /// profiles have changed. Changes neither the environment nor any file.
    func reopen() async throws -> SingleSignOn { try await SingleSignOn(.automatic(profiles: profiles), settings: settings) }

    private var settings: SingleSignOn.Settings {
        var settings = SingleSignOn.Settings()
        settings.secretStore = OrderedSecretStore.automatic(environment: settings.environment)
        settings.directory = .boundToTLS
        switch verbosity {
        case 0: break
        // Only this project's own trace lines, which list the KDCs that are contacted.
        case 1: settings.trace = { line in if line.hasPrefix("KDCs of ") { Console.note(line.trimmingCharacters(in: .newlines)) } }
        default: settings.trace = { line in Console.note("krb5: \(line.trimmingCharacters(in: .newlines))") }
        }
        return settings
    }

    /// Writes the process's own krb5.conf, from which GSSAPI reads its settings for channel bindings and delegation.
    ///
    /// Call this before the first call to libkrb5, while no other thread reads the environment. If the file cannot be written, tickets work
    /// as in other Kerberos programs, and `ksso explain` reports what is missing.
    private func configureProcess(for sso: SingleSignOn, bindsTokens: Bool, cacheSocket: String?) {
        guard !sso.policy.configurations.isEmpty || cacheSocket != nil else { return }
        let file = KerberosConfigurationFile(
            sso.policy.configurations,
            defaultRealm: nil,
            bindsTokens: bindsTokens,
            cacheSocket: cacheSocket
        )
        guard let value = try? file.install(environment: ProcessInfo.processInfo.environment) else { return }
        setenv("KRB5_CONFIG", value, 1)
    }

    /// Runs a command's work; every error becomes one line and an exit status.
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

extension DomainDirectory.Options {
    /// The options of this program: with TLS, the sign-in is bound to the connection.
    static var boundToTLS: DomainDirectory.Options {
        var options = DomainDirectory.Options()
        options.channelBindings = { certificate in
            (try? TLSServerEndPoint(certificate: certificate)).map { ChannelBindings(applicationData: $0.applicationData) }
        }
        return options
    }
}
