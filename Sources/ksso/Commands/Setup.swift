internal import ArgumentParser
internal import CommandSupport
internal import ExtensionProfile
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SignOnPolicy
internal import SystemSupport

/// `ksso setup`: installs a profile and configures the session so that its programs are signed in.
struct Setup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Install or create a profile, sign in, configure the session, and check the result.",
        discussion: """
            With a file, or with --realm and --host, checks the profile and installs it in ~/.config/ksso; otherwise uses the installed \
            profiles. Then signs in, unless you are signed in, and configures the session. The command can be repeated: completed steps \
            are skipped. Finally, runs the checks of ksso doctor. If one fails, prints it and exits with status 1.

            To configure the session, it changes your shell's profile and a file of systemd: it shows the lines, and asks at the terminal \
            before it writes them. With --yes it does not ask. Without a terminal it changes them only with --yes.

            If your name in the realm is not the name of your account here, --principal names it, and later sign-ins use it too; the \
            command also asks for it if the KDC does not know the name of your account.

            --undo removes the profiles that earlier runs installed, unless you have changed them since, and the lines between the marks of \
            ksso, and forgets that name. Then a running agent signs out of a realm that no profile names any more: it destroys the tickets \
            that ksso acquired there.

            With --system, only installs the profile in /etc/ksso, for every user of the machine; each user signs in separately.

            EXAMPLES:
              ksso setup corp.mobileconfig
              ksso setup corp.mobileconfig --principal alice@CORP.EXAMPLE
              ksso setup --realm CORP.EXAMPLE --host .corp.example
              ksso setup --undo
            """
    )

    @Argument(help: "The profile: a .mobileconfig or YAML file.", completion: .profile)
    var file: String?
    @Option(help: "Create a profile for this realm.", completion: .realm)
    var realm: String?
    @Option(
        help: ArgumentHelp(
            "Add a host to the created profile; .corp.example matches every host below corp.example.",
            valueName: "host"
        )
    )
    var host: [String] = []
    @Option(help: "The principal that signs in, now and later.", completion: .principal)
    var principal: String?
    @Flag(help: "Read the password from the first line of standard input.")
    var passwordStdin = false
    @Flag(help: "Do not sign in.")
    var noLogin = false
    @Flag(help: "Do not configure the session.")
    var noSession = false
    @Flag(help: "Configure the session without asking.")
    var yes = false
    @Flag(help: "Remove what earlier runs installed; with --system, the profiles in /etc/ksso.")
    var undo = false
    @Flag(help: "Install for every user of the machine, as root.")
    var system = false
    @Flag(help: "Replace another profile of the same name.")
    var force = false

    func validate() throws {
        if file != nil, realm != nil || !host.isEmpty { throw ValidationError("A file and --realm or --host are mutually exclusive.") }
        if realm == nil, !host.isEmpty { throw ValidationError("--host requires --realm.") }
        for host in host {
            do {
                _ = try HostRule(host)
            } catch {
                throw ValidationError("--host: \(error.reason)")
            }
        }
        if realm != nil, host.isEmpty { throw ValidationError("--realm requires at least one --host.") }
        if force, file == nil, realm == nil { throw ValidationError("--force requires a file, or --realm and --host.") }
        if system, !undo, file == nil, realm == nil { throw ValidationError("--system requires a file, or --realm and --host.") }
        if noSession, yes { throw ValidationError("--no-session and --yes are mutually exclusive.") }
        let installs = file != nil || realm != nil || principal != nil || passwordStdin || noLogin || noSession || yes || force
        if undo, installs { throw ValidationError("--undo takes no other option than --system.") }
        if noLogin, passwordStdin { throw ValidationError("--no-login and --password-stdin are mutually exclusive.") }
    }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        try EnclosingRealm.refuseInside(environment: environment)
        let search = ProfileSearch()
        if undo { return try await SetupRemoval(directory: try directory(search), isSystem: system, environment: environment).run() }
        var realm = realm
        if let installation = try await installation(search) {
            do {
                realm = try await installation.run(force: force).configurations.first?.realm ?? realm
            } catch {
                throw CommandFailure(error, verbose: false)
            }
        } else if case let found = try await search.load(), found.profiles.isEmpty {
            guard found.warnings.isEmpty else {
                for warning in found.warnings { Console.report("warning: \(warning.message)") }
                throw CommandFailure(.failed, "no installed profile can be used. Correct what the warnings name, then run: ksso setup")
            }
            throw CommandFailure(
                .usage,
                "no profile is installed. Install one with: ksso setup FILE; or create one with: "
                    + "ksso setup --realm REALM --host .corp.example"
            )
        }
        guard !system else { return Console.note("Each user now runs: ksso setup") }
        if !noLogin {
            do {
                try await signIn(realm)
            } catch {
                throw await unfinished(error, environment)
            }
        } else if let principal {
            try await EngineOptions().run { sso in
                let principal = try await sso.principal(principal, realm: realm)
                let question = UserNameQuestion(realm: principal.realm, sso: sso)
                try await question.record(principal, environment: environment).report(principal)
            }
        }
        if !noSession { try await SessionConsent(SessionSetUp(environment: environment), isGiven: yes).install() }
        if !noLogin { try await SetupCheck(environment: environment).run(realm: realm) }
    }

    /// Adds to the failure of the sign-in what was done, and the command that continues.
    private func unfinished(_ error: any Error, _ environment: [String: String]) async -> CommandFailure {
        let failure = CommandFailure(error, verbose: false)
        let setUp = await SessionSetUp(environment: environment)
        let isConfigured = if noSession || setUp.isInstalled { true } else { await setUp.usesMachineCache() }
        let done = "The profile is installed\(isConfigured ? "" : ", but the session is not configured")."
        // The user may have been asked for the name.
        let refusal = (failure.cause as? KerberosError).flatMap { $0.code == .wrongPassword ? $0 : nil }
        let isCanceled = (failure.cause as? KerberosError)?.code == .canceled
        let isUnknown = (failure.cause as? KerberosError)?.code == .unknownPrincipal
        let name =
            (principal ?? refusal?.subject).map { " --principal \(shellWord($0))" } ?? (isUnknown ? " --principal NAME@REALM" : "")
        let invitation = refusal != nil ? "Try again with" : isCanceled ? "To continue, run" : "After you correct the error, run"
        let next = failure.cause is UnknownAccountName ? "" : " \(invitation): ksso setup\(name)"
        // The advice of a wrong password is `ksso login`, which would leave the session as it is; that without a terminal names options
        // that this command does not have.
        let ownMessage: String? =
            failure.status == .notInteractive
            ? "a password is required, and there is no terminal for the prompt. Use --password-stdin or --no-login." : nil
        let message = ownMessage ?? refusal?.description ?? failure.message
        var complete = CommandFailure(failure.status, message, details: failure.details + [done + next])
        complete.cause = failure.cause
        return complete
    }

    /// Returns what to install; nil if nothing was named.
    private func installation(_ search: ProfileSearch) async throws(CommandFailure) -> ProfileInstallation? {
        let place = ProfileInstallation.Place(directory: try directory(search), isSystem: system, search: search)
        if let file { return try await ProfileInstallation(copying: file, to: place) }
        guard let realm else { return nil }
        return ProfileInstallation(realm: await known(realm, search), hosts: host, principal: principal, in: place)
    }

    /// Returns the folder of the profiles.
    private func directory(_ search: ProfileSearch) throws(CommandFailure) -> String {
        if system, geteuid() != 0 {
            throw CommandFailure(.failed, "--system requires root, because it writes to \(search.systemDirectory).")
        }
        guard let directory = system ? search.systemDirectory : search.userDirectory else {
            throw CommandFailure(.failed, "there is no folder for profiles: HOME is not set.")
        }
        return directory
    }

    /// Returns the realm in the spelling of an installed profile or krb5.conf.
    private func known(_ realm: String, _ search: ProfileSearch) async -> String {
        let profiles = (try? await search.load().profiles) ?? []
        guard let sso = try? await SingleSignOn(.inProcess(profiles)) else { return realm }
        return await sso.names.knownRealm(realm)
    }

    /// The command that signs in as another principal, without that principal.
    private static let principalCommand = "ksso setup --principal"

    private func signIn(_ realm: String?) async throws {
        var signIn = SignInOperation()
        (signIn.recordsPrincipal, signIn.otherPrincipalCommand) = (principal != nil, Self.principalCommand)
        (signIn.principal, signIn.realm, signIn.credential.readsSecret) = (principal, realm, passwordStdin)
        signIn.acceptsAnyPrincipal = true
        try await signIn.run(EngineOptions())
    }
}

/// `ksso setup --undo`: removes what earlier runs of `ksso setup` installed.
struct SetupRemoval {
    /// The folder of the profiles.
    let directory: String
    /// Whether the profiles apply to every user of the machine. The sessions are then the users' own.
    let isSystem: Bool
    let environment: [String: String]

    private var principals: StoredPrincipals? {
        UserPrincipalsFile(of: ProfileSearch(environment: environment)).map(StoredPrincipals.init)
    }

    func run() async throws {
        let notice = await RealmRemovalNotice(ProfileSearch(environment: environment))
        let hadSession = isSystem ? false : try await SessionSetUp(environment: environment).uninstall()
        let hadProfiles = try InstalledProfiles(directory: directory).remove()
        let hadPrincipals = isSystem ? false : try principals?.remove() ?? false
        if !hadSession, !hadProfiles, !hadPrincipals { Console.print("Nothing was removed: there is nothing that ksso setup installed.") }
        await notice.print(environment: environment)
    }
}
