internal import CommandSupport
internal import ExtensionProfile

/// `ksso setup --undo`: removes what earlier runs of `ksso setup` installed.
struct SetupRemoval {
    /// The folder of the profiles.
    let directory: String
    /// Whether the profiles apply to every user of the machine. The sessions are then the users' own.
    let isSystem: Bool
    let environment: [String: String]

    func run() async throws {
        let hadSession = isSystem ? false : try await SessionSetUp(environment: environment).uninstall()
        let hadProfiles = try InstalledProfiles(directory: directory).remove()
        let hadPrincipals = isSystem ? false : try removePrincipals()
        if !hadSession, !hadProfiles, !hadPrincipals { Console.print("Nothing was removed: there is nothing that ksso setup installed.") }
    }

    /// Removes the user's principals, which earlier runs stored.
    private func removePrincipals() throws(CommandFailure) -> Bool {
        do throws(ProfileError) {
            guard let path = try UserPrincipals.remove(from: directory) else { return false }
            Console.print("\(path): removed")
            return true
        } catch {
            throw CommandFailure(error, verbose: false)
        }
    }
}
