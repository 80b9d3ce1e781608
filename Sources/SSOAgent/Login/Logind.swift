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
