internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgentClient
internal import SignOnPolicy
internal import SystemSupport

extension DiagnosticStep {
    /// Checks the default credential cache: its location, its owner and the available space.
    static let cache = DiagnosticStep.check(
        "cache",
        hangingRemedy: silenceRemedy
    ) { findings in
        if let loss = await RuntimeDirectory(environment: findings.subject.environment).cacheLoss() {
            findings.tickets.isCacheLost = true
            return .failed("the agent keeps the tickets, but programs cannot reach them at \(loss.fault).", remedy: loss.remedy)
        }
        let client = findings.sso.inspection.cacheClient
        let name: CredentialCacheName
        do throws(KerberosError) {
            name = try await client.defaultCacheName()
            _ = try await client.contents(of: name)
        } catch {
            // A missing cache is not a failure.
            guard error.code == .noCredentials else { return await unusable(error, client, findings) }
        }
        guard let name = try? await client.defaultCacheName() else { return .skipped("the default cache has no name.") }
        guard let folder = CacheFolder(of: name) else {
            let socket = name.type == "KCM" ? " at \(await socketPath(client))" : ""
            return .ok("the tickets are in \(name)\(socket), which answers.")
        }
        if let fault = folder.fault {
            return .failed(
                "\(name): the credential cache cannot be written: \(fault).",
                remedy: "Free space in \(folder.path), or set KRB5CCNAME to a cache in another folder."
            )
        }
        let leftOver = RuntimeDirectory(environment: findings.subject.environment)
        if let refusal = PrivateDirectory(path: leftOver.path).refusal {
            return .warning("the tickets are in \(name), and an agent is ignored.", remedy: refusal)
        }
        if isStale(leftOver.kcmSocket) {
            return .warning(
                "the tickets are in \(name). The socket \(leftOver.kcmSocket) is left over from an agent that is no longer running.",
                remedy: "Start the agent again: ksso agent run --background"
            )
        }
        return .ok("the tickets are in \(name), which is writable.")
    }

    /// Returns the remedy for a cache that does not answer, using only information from the kernel.
    private static func silenceRemedy(_ findings: DiagnosticFindings) -> String {
        let runtime = RuntimeDirectory(environment: findings.subject.environment)
        guard runtime.cacheSocket != nil, let listener = runtime.listener(at: .caches) else {
            return "The server of the credential caches does not answer. See: systemctl status sssd-kcm ksso-kcm"
        }
        return listener.silence.prefix(1).uppercased() + listener.silence.dropFirst()
    }

    private static func unusable(_ error: KerberosError, _ client: KerberosClient, _ findings: DiagnosticFindings) async -> Finding {
        guard error.message.contains("KCM") || error.subject.hasPrefix("KCM") else { return .failed(error.description) }
        // The session's variables direct other programs to the agent's socket, but this process ignores an agent that has stopped.
        let places = [await socketPath(client), RuntimeDirectory(environment: findings.subject.environment).kcmSocket]
        let remedy = "Start this user's agent: ksso agent run --background; or the system-wide server: systemctl start ksso-kcm.socket"
        guard let path = places.first(where: isStale) else { return .failed(error.description, remedy: remedy) }
        return .failed("the KCM socket \(path) is stale: it exists, but its server is no longer running.", remedy: remedy)
    }

    private static func socketPath(_ client: KerberosClient) async -> String {
        (try? await client.libdefault("kcm_socket")) ?? "/var/run/.heim_org.h5l.kcm-socket"
    }

    /// Returns whether a path has a socket at which no process listens.
    private static func isStale(_ path: String) -> Bool {
        var information = stat()
        guard stat(path, &information) == 0, information.st_mode & S_IFMT == S_IFSOCK else { return false }
        return switch UnixSocketAddress(path: path)?.listener() {
        // A listener that is busy or belongs to another user counts as well.
        case .accepting, .busy, .forbidden: false
        case .absent, nil: true
        }
    }

    /// Checks whether klist, curl and other programs use the cache that contains the tickets.
    static let visibility = DiagnosticStep.check("visibility") { findings in
        let own = findings.sso.inspection.cacheClient
        let files = KerberosConfigurationFile.stockFiles(environment: findings.subject.environment)
        let stock = KerberosClient(RealmConfiguration(realm: "", base: .files(files)))
        guard let ours = try? await own.defaultCacheName(), let theirs = try? await stock.defaultCacheName() else {
            return .skipped("the default cache has no name.")
        }
        let socket = try? await own.libdefault("kcm_socket")
        let stockSocket = try? await stock.libdefault("kcm_socket")
        let isShared = ours == theirs && (ours.type != "KCM" || stockSocket == socket)
        guard isShared else {
            return .warning(
                "klist, curl and other programs started from here use \(theirs)\(ours == theirs ? " of another server" : "").",
                remedy: visibilityRemedy(findings.subject)
            )
        }
        if let session = await sessionElsewhere(than: theirs, findings) {
            return .warning(
                "the tickets of \(session.principal) are in \(session.cache), but klist, curl and other programs use \(theirs).",
                remedy: findings.subject.isInTestRealm ? nil : "An agent keeps the tickets of all principals in one place: ksso setup"
            )
        }
        let isAgents = ours.type == "KCM" && socket == RuntimeDirectory(environment: findings.subject.environment).kcmSocket
        guard let access = programAccess(findings.sso.policy.configurations) else {
            return .ok("klist, curl and other programs use the same cache.")
        }
        guard isAgents else {
            return .warning(
                "klist, curl and other programs use the same cache. The profiles open the tickets \(access), but only the agent applies this.",
                remedy: findings.subject.isInTestRealm ? nil : "Start the agent: ksso setup"
            )
        }
        return .warning(
            "klist, curl and other programs use the same cache, which the profiles open \(access).",
            remedy: "Others get \"Permission denied\". The profile keys credentialBundleIdACL and DeniedBundleIdentifiers decide this."
        )
    }

    /// The default session of the realm if its tickets are not in the default cache, which holds those of another principal.
    private static func sessionElsewhere(than cache: CredentialCacheName, _ findings: DiagnosticFindings) async -> Session? {
        guard !cache.isCollection, let list = try? await findings.sso.sessions() else { return nil }
        return list.sessions.first { $0.isDefault && $0.isSignedIn && $0.realm == findings.realm && $0.cache != cache }
    }

    /// To which programs the profiles open the agent's cache, such as `only to ksso, /usr/bin/curl`; nil if to all.
    private static func programAccess(_ configurations: [ExtensionConfiguration]) -> String? {
        func text(_ callers: [CredentialCaller]) -> String {
            let names = callers.prefix(5).map(\.description).joined(separator: ", ")
            return callers.count > 5 ? "\(names) and \(callers.count - 5) more" : names
        }
        let lists = configurations.compactMap(\.credentialCallers)
        // A program must be in every list.
        let permitted = (lists.first ?? []).filter { caller in lists.allSatisfy { $0.contains(caller) } }
        let denied = configurations.flatMap(\.deniedCallers)
        let only = lists.isEmpty ? nil : permitted.isEmpty ? "only to ksso" : "only to ksso, \(text(permitted))"
        let parts = [only, denied.isEmpty ? nil : "not to \(text(denied))"].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: ", and ")
    }

    private static func visibilityRemedy(_ subject: Doctor.Subject) -> String {
        let shell = "To share the tickets with this shell: eval \"$(ksso env)\"; with one program: ksso exec COMMAND"
        if subject.isInTestRealm { return shell }
        guard subject.isSessionConfigured else {
            return "Configure the session: ksso configure session --install\n    To share the tickets with one program: ksso exec COMMAND"
        }
        return "The session is configured, but this shell does not use it: log out and in again.\n    \(shell)\n"
            + "    If that does not help: ksso configure session --check"
    }
}

extension KerberosConfigurationFile {
    /// Returns the krb5.conf files that a program started from here would read.
    static func stockFiles(environment: [String: String]) -> [String] {
        (environment["KRB5_CONFIG"] ?? "/etc/krb5.conf").split(separator: ":").map(String.init)
    }
}
