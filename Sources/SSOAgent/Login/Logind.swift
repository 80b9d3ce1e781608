/// A client of systemd-logind on the system bus (org.freedesktop.login1(5)).
struct Logind: Sendable {
    static let name = "org.freedesktop.login1"
    private static let path = "/org/freedesktop/login1"

    let connection: DBusConnection

    /// The error names that logind returns for a session that no longer exists.
    private static let absences = [
        "org.freedesktop.DBus.Error.UnknownObject", "org.freedesktop.DBus.Error.UnknownMethod", "\(name).NoSuchSession",
    ]

    static func interface(_ name: String) -> String { "\(self.name).\(name)" }

    /// Subscribes to logind's signals and to the bus's signals about logind's start and exit.
    func subscribe() async throws {
        let rules = [
            "type='signal',sender='\(Self.name)',path_namespace='\(Self.path)'",
            "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.name)'",
        ]
        for rule in rules { _ = try await connection.call(.bus("AddMatch", rule)) }
    }

    /// Returns the unique bus name of the running logind; nil if none is running.
    func owner() async throws -> String? {
        do {
            return try await connection.call(.bus("GetNameOwner", Self.name)).first?.string
        } catch DBusError.failed {
            return nil
        }
    }

    /// Returns the login sessions of a user.
    func state(of user: UInt32) async throws -> LoginState {
        let list = try await call(Self.path, Self.interface("Manager"), "ListSessions")
        var state = LoginState()
        // Each entry has the session ID, the user ID, the user's name, the seat and the object path.
        for session in list.first?.list ?? [] {
            guard let parts = session.list, parts.count == 5, parts[1].number == UInt64(user), let path = parts[4].string else { continue }
            do {
                let properties = try await call(path, "org.freedesktop.DBus.Properties", "GetAll", Self.interface("Session"))
                state.sessions[path] = LoginState.Session(properties.first?.dictionary ?? [:])
            } catch DBusError.failed(let name) where Self.absences.contains(name) {
                // The session has ended meanwhile. Any other error, such as that logind itself exited, says nothing about the session.
            }
        }
        return state
    }

    private func call(_ path: String, _ interface: String, _ member: String, _ arguments: String...) async throws -> [DBusValue] {
        try await connection.call(
            DBusCall(destination: Self.name, path: path, interface: interface, member: member, arguments: arguments)
        )
    }
}

/// A user's login sessions, as reported by logind.
struct LoginState: Hashable, Sendable {
    /// One login session.
    struct Session: Hashable, Sendable {
        /// The session class. Classes that start with `user` are sessions of a person; the others are greeters, lock screens, background
        /// jobs and the user's own service manager.
        var category = "user"
        /// `tty`, `x11`, `wayland`, `mir` or `unspecified`.
        var type = "tty"
        /// `closing` if the user has logged out and some process of the session is still running.
        var state = "active"
        var isLocked = false

        var isPresent: Bool { category.hasPrefix("user") && state != "closing" }
        var isGraphical: Bool { ["x11", "wayland", "mir"].contains(type) }
    }

    /// The sessions by object path.
    var sessions: [String: Session] = [:]

    private var present: [Session] { sessions.values.filter(\.isPresent) }

    /// Whether the user sees a locked screen: at least one session is locked, and no graphical session is unlocked.
    var isLocked: Bool {
        present.contains(where: \.isLocked) && !present.contains { $0.isGraphical && !$0.isLocked }
    }

    /// Returns what has changed since an earlier state. With no earlier state, a locked session is a change.
    ///
    /// - Parameter requests: The sessions that logind has asked to lock since then. They count as locked, because some screen lockers never
    ///   set the locked hint.
    func changes(since before: LoginState?, requests: Set<String> = []) -> Set<LoginChange> {
        var changes: Set<LoginChange> = []
        let isNews = sessions.contains { path, session in session.isLocked && before?.sessions[path]?.isLocked != true }
        if isNews || sessions.keys.contains(where: requests.contains) { changes.insert(.locked) }
        if let before, !before.present.isEmpty, present.isEmpty { changes.insert(.sessionEnded) }
        return changes
    }
}

extension LoginState.Session {
    /// Reads the properties of an `org.freedesktop.login1.Session` object.
    init(_ properties: [String: DBusValue]) {
        self.init(
            category: properties["Class"]?.string ?? "",
            type: properties["Type"]?.string ?? "",
            state: properties["State"]?.string ?? "",
            isLocked: properties["LockedHint"]?.bool ?? false
        )
    }
}
