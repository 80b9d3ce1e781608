internal import ExtensionProfile
internal import HTTPNegotiate

/// The last step of `ksso setup`: whether all that was set up works, and what to do next.
enum SetupCheck {
    /// - Parameters:
    ///   - realm: The realm that was set up; nil is the default one.
    ///   - isSignedIn: Whether the user was signed in.
    static func run(realm: String?, isSignedIn: Bool) async throws {
        let configurations = try await ProfileSearch().runAside().configurations
        let configuration = configurations.first { $0.realm == realm } ?? configurations.first
        guard isSignedIn, let rule = configuration?.hosts.first else { return }
        let host = rule.kind == .suffix ? "HOST\(rule.name)" : rule.name
        Console.note("Try it: ksso fetch https://\(host)/")
    }
}
