/// A user's login sessions, as logind tells of them.
struct LoginState: Hashable, Sendable {
    /// One of them.
    struct Session: Hashable, Sendable {
        /// A person's sessions are of the class `user`, or of one that begins so; the others are greeters, lock screens, background jobs
        /// and the user's own service manager.
        var category = "user"
        /// `tty`, `x11`, `wayland`, `mir` or `unspecified`.
        var type = "tty"
        /// `closing` where the person has left and some process has not.
        var state = "active"
        var isLocked = false

        var isPresent: Bool { category.hasPrefix("user") && state != "closing" }
        var isGraphical: Bool { ["x11", "wayland", "mir"].contains(type) }
    }

    /// By the paths of their objects.
    var sessions: [String: Session] = [:]

    private var present: [Session] { sessions.values.filter(\.isPresent) }

    /// Whether the user sees a locked screen: one is locked, and none is open beside it.
    var isLocked: Bool {
        present.contains(where: \.isLocked) && !present.contains { $0.isGraphical && !$0.isLocked }
    }

    /// What has happened since another look; what was locked when nobody had looked yet is news.
    ///
    /// - Parameter requests: The sessions that were told to lock themselves meanwhile: some screen lockers do it and never say so.
    func changes(since before: LoginState?, requests: Set<String> = []) -> Set<LoginChange> {
        var changes: Set<LoginChange> = []
        let isNews = sessions.contains { path, session in session.isLocked && before?.sessions[path]?.isLocked != true }
        if isNews || sessions.keys.contains(where: requests.contains) { changes.insert(.locked) }
        if let before, !before.present.isEmpty, present.isEmpty { changes.insert(.sessionEnded) }
        return changes
    }
}

extension LoginState.Session {
    /// The properties of `org.freedesktop.login1.Session`.
    init(_ properties: [String: DBusValue]) {
        self.init(
            category: properties["Class"]?.string ?? "",
            type: properties["Type"]?.string ?? "",
            state: properties["State"]?.string ?? "",
            isLocked: properties["LockedHint"]?.bool ?? false
        )
    }
}
