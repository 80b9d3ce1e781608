internal import CommandSupport
internal import ExtensionProfile

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
        let hadSession = isSystem ? false : try await SessionSetUp(environment: environment).uninstall()
        let hadProfiles = try InstalledProfiles(directory: directory).remove()
        let hadPrincipals = isSystem ? false : try principals?.remove() ?? false
        if !hadSession, !hadProfiles, !hadPrincipals { Console.print("Nothing was removed: there is nothing that ksso setup installed.") }
    }
}
