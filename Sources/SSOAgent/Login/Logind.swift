/// systemd-logind over the system's bus (org.freedesktop.login1(5)).
struct Logind: Sendable {
    static let name = "org.freedesktop.login1"
    private static let path = "/org/freedesktop/login1"

    let connection: DBusConnection

    /// What logind answers about a session that is no more.
    private static let absences = [
        "org.freedesktop.DBus.Error.UnknownObject", "org.freedesktop.DBus.Error.UnknownMethod", "\(name).NoSuchSession",
    ]

    static func interface(_ name: String) -> String { "\(self.name).\(name)" }

    /// Has the bus send logind's signals, and tell when logind comes and goes.
    func subscribe() async throws {
        let rules = [
            "type='signal',sender='\(Self.name)',path_namespace='\(Self.path)'",
            "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.name)'",
        ]
        for rule in rules { _ = try await connection.call(.bus("AddMatch", rule)) }
    }

    /// The connection of the logind that runs; nil where none does.
    func owner() async throws -> String? {
        do {
            return try await connection.call(.bus("GetNameOwner", Self.name)).first?.string
        } catch DBusError.failed {
            return nil
        }
    }

    /// The login sessions of a user.
    func state(of user: UInt32) async throws -> LoginState {
        let list = try await call(Self.path, Self.interface("Manager"), "ListSessions")
        var state = LoginState()
        // The name, the user's number, the user's name, the seat, the path.
        for session in list.first?.list ?? [] {
            guard let parts = session.list, parts.count == 5, parts[1].number == UInt64(user), let path = parts[4].string else { continue }
            do {
                let properties = try await call(path, "org.freedesktop.DBus.Properties", "GetAll", Self.interface("Session"))
                state.sessions[path] = LoginState.Session(properties.first?.dictionary ?? [:])
            } catch DBusError.failed(let name) where Self.absences.contains(name) {
                // It has ended meanwhile. Any other error, such as that logind itself is gone, says nothing of the session.
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
