internal import KerberosTesting

/// What `ksso realm run` without a command prints after the exports: the realms and their users, what to try, and how to stop.
struct RealmBanner {
    let plan: RealmPlan
    let servers: [RealmDescription.Server]
    /// Whether the realm also stops when standard input closes.
    let stopsWithInput: Bool

    var lines: [String] {
        let names = plan.realms.map(\.name).joined(separator: ", ")
        let verb = plan.realms.count == 1 ? "is" : "are"
        let end = "\(names) \(verb) running until interrupted (Ctrl-C)\(stopsWithInput ? ", or until standard input closes" : "")."
        return plan.realms.map(Self.users) + suggestions + [end]
    }

    private static func users(of realm: TestRealmOptions) -> String {
        let names = realm.userNamesWithPassword
        switch names.count {
        case 0: return "\(realm.name) has no user. To add one, use: --user alice:secret"
        case 1: return "\(realm.name) has the user \(names[0])."
        default: return "\(realm.name) has the users \(names.joined(separator: ", "))."
        }
    }

    private var suggestions: [String] {
        guard let user = plan.realms[0].userNamesWithPassword.first else { return [] }
        let pages = servers.prefix(1).map { "    ksso fetch \($0.url)/hello" }
        return ["In another shell, run the printed exports, then try:", "    ksso login \(user)"] + pages
    }
}
