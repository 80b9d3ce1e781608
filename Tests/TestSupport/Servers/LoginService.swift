import Foundation
internal import KerberosTesting
internal import Subprocess
internal import Synchronization

/// A private message bus with the system's systemd-logind, which knows only the sessions that the test defines.
///
/// logind runs in a mount namespace with an empty `/run`, so that it is isolated from the machine.
public final class LoginService: Sendable {
    /// A login session.
    public struct Session: Sendable {
        var id: String
        var user: UInt32
        var name: String
        var type: String

        /// Creates a session.
        ///
        /// - Parameter type: `wayland`, `x11` or `tty`.
        public init(_ id: String, user: UInt32 = 0, name: String = "root", type: String = "wayland") {
            (self.id, self.user, self.name, self.type) = (id, user, name, type)
        }

        /// The object's path, in which a leading digit is written as its character code.
        var path: String { "/org/freedesktop/login1/session/_3\(id)" }
    }

    private static let logind = "/lib/systemd/systemd-logind"

    /// Whether this user can run the service on this machine.
    public static let isPossible: Bool = {
        guard geteuid() == 0, FileManager.default.isExecutableFile(atPath: logind),
            (try? Program.path(of: "dbus-daemon")) != nil, (try? Program.path(of: "busctl")) != nil
        else { return false }
        return succeeds(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/run"])
    }()

    /// The reason for skipping a test if the service cannot run.
    public static let reason = "this needs root, a private mount namespace, dbus-daemon, busctl and systemd-logind"

    private let folder: String
    private let seats = Mutex<[String: Int32]>([:])

    /// Returns the variable with which a program finds the bus in a folder.
    public static func environment(folder: String) -> [String: String] { ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(folder)/bus"] }

    private init(folder: String) { self.folder = folder }

    deinit { for descriptor in seats.withLock({ $0.values }) { close(descriptor) } }

    /// Runs the closure while the bus and logind are running. The folder must exist; it can be reused by later calls.
    @discardableResult
    public static func run<Value>(
        in folder: String,
        sessions: [Session],
        logind: Bool = true,
        _ body: (LoginService) async throws -> Value
    ) async throws -> Value {
        let service = LoginService(folder: folder)
        try service.prepare(sessions)
        var result: Result<Value, any Error>?
        _ = try await Subprocess.run(
            .name("sh"),
            arguments: ["-ec", script, "sh", folder, logind ? self.logind : ""],
            environment: .inherit.updating(["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(folder)/bus"]),
            input: .inputWriter,
            output: .sequence,
            error: .combinedWithOutput
        ) { execution in
            var output = ""
            for try await bytes in execution.standardOutput {
                output += bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                if output.contains("ready\n") { break }
            }
            if output.contains("ready\n") {
                do { result = .success(try await body(service)) } catch { result = .failure(error) }
            } else {
                result = .failure(Failure(description: "logind did not start: \(output)"))
            }
            try await execution.standardInputWriter.finish()
        }
        guard let result else { throw CancellationError() }
        return try result.get()
    }

    /// The reason why a call failed.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs the bus and logind until the shell's standard input is closed.
    private static let script = """
        folder=$1
        trap 'kill $logind $bus 2>/dev/null; wait' EXIT
        rm -f "$folder/bus"
        dbus-daemon --config-file="$folder/bus.conf" --nofork --nopidfile </dev/null >/dev/null 2>&1 & bus=$!
        until [ -S "$folder/bus" ]; do kill -0 $bus; sleep 0.02; done
        if [ -n "$2" ]; then
            unshare --mount sh -ec '
                mount -t tmpfs none /run
                mkdir -p /run/systemd/seats /run/systemd/inhibit /run/udev/tags /run/udev/data
                cp -r "$1/sessions" "$1/users" /run/systemd
                exec "$2"' sh "$folder" "$2" </dev/null >"$folder/logind.log" 2>&1 & logind=$!
            until busctl call org.freedesktop.DBus / org.freedesktop.DBus GetNameOwner s org.freedesktop.login1 >/dev/null 2>&1; do
                kill -0 $logind || { cat "$folder/logind.log"; exit 1; }
                sleep 0.02
            done
        fi
        echo ready
        read -r _ || true
        """

    private func prepare(_ sessions: [Session]) throws {
        let files = FileManager.default
        let policy = """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig><listen>unix:path=\(folder)/bus</listen><auth>EXTERNAL</auth><policy context="default">
            <allow user="*"/><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
            """
        try policy.write(toFile: "\(folder)/bus.conf", atomically: true, encoding: .utf8)
        for name in ["sessions", "users"] {
            try? files.removeItem(atPath: "\(folder)/\(name)")
            try files.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: false)
        }
        for session in sessions {
            let seat = "\(folder)/\(session.id).seat"
            if !files.fileExists(atPath: seat) { guard mkfifo(seat, 0o600) == 0 else { throw CocoaError(.fileWriteUnknown) } }
            let descriptor = open(seat, O_RDWR | O_CLOEXEC)
            guard descriptor >= 0 else { throw CocoaError(.fileReadUnknown) }
            // logind considers a session closed when no process has this FIFO open.
            seats.withLock { $0[session.id] = descriptor }
            let text = """
                UID=\(session.user)
                USER=\(session.name)
                ACTIVE=1
                STATE=active
                TYPE=\(session.type)
                CLASS=user
                SCOPE=session-\(session.id).scope
                FIFO=\(seat)
                LEADER=\(getpid())

                """
            try text.write(toFile: "\(folder)/sessions/\(session.id)", atomically: false, encoding: .utf8)
        }
        for (user, own) in Dictionary(grouping: sessions, by: \.user) {
            let text = "NAME=\(own[0].name)\nSTATE=active\nSESSIONS=\(own.map(\.id).joined(separator: " "))\n"
            try text.write(toFile: "\(folder)/users/\(user)", atomically: false, encoding: .utf8)
        }
    }

    /// Requests that a session lock its screen, as `loginctl lock-session` does.
    public func lock(_ session: Session) async throws {
        try await call("/org/freedesktop/login1", "org.freedesktop.login1.Manager", "LockSession", "s", session.id)
    }

    /// Reports to logind whether a session is locked, as its screen locker does.
    public func setLocked(_ session: Session, _ isLocked: Bool = true) async throws {
        try await call(session.path, "org.freedesktop.login1.Session", "SetLockedHint", "b", isLocked ? "true" : "false")
    }

    /// Sends the lock signal of a session to every client of the bus from a process other than logind.
    public func pretendLock(_ session: Session) async throws {
        let bus = "org.freedesktop.DBus"
        let names = try await busctl(["call", bus, "/org/freedesktop/DBus", bus, "ListNames"]).split(separator: "\"")
        for name in names where name.hasPrefix(":") {
            // Clients that have disconnected need no signal.
            _ = try? await busctl(["emit", "--destination=\(name)", session.path, "org.freedesktop.login1.Session", "Lock"])
        }
    }

    /// Ends a session, as when its leader closes it.
    public func leave(_ session: Session) { _ = seats.withLock { $0.removeValue(forKey: session.id) }.map { close($0) } }

    private func call(_ words: String...) async throws { try await busctl(["call", "org.freedesktop.login1"] + words) }

    @discardableResult
    private func busctl(_ words: [String]) async throws -> String {
        let result = try await Subprocess.run(
            .name("busctl"),
            arguments: Arguments(words),
            environment: .inherit.updating(["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(folder)/bus"]),
            output: .string(limit: 1 << 16),
            error: .string(limit: 4096)
        )
        guard result.terminationStatus.isSuccess else { throw Failure(description: "busctl \(words): \(result.standardError)") }
        return result.standardOutput
    }
}
