internal import Foundation
internal import KerberosEngine
internal import SignOnPolicy
internal import Synchronization

/// Detects through systemd-logind that the user locks the screen or logs out.
package final class LoginWatch: Sendable {
    /// The configuration of a watch.
    package struct Options: Sendable {
        /// The environment, whose variables name the socket of the system bus.
        package var environment: [String: String]
        /// The ID of the user whose login sessions are watched.
        package var user: UInt32
        /// Returns whether the result is needed. While it returns false, the watch does not connect to the bus.
        package var isWanted: @Sendable () -> Bool
        /// Receives a line when the result is needed but logind does not answer.
        package var log: @Sendable (String) -> Void
        /// How often the sessions are checked without a signal, because a session whose last process lingers ends without one.
        package var interval = Duration.seconds(30)
        /// The longest pause between attempts to connect to the bus.
        package var longestWait = Duration.seconds(30)
        /// If logind answered for less than this time, losing it again is not logged again.
        package var steadyTime = Duration.seconds(60)

        package init(
            environment: [String: String],
            user: UInt32,
            isWanted: @escaping @Sendable () -> Bool = { true },
            log: @escaping @Sendable (String) -> Void = { _ in }
        ) {
            self.environment = environment
            self.user = user
            self.isWanted = isWanted
            self.log = log
        }
    }

    private let options: Options
    private struct Seen {
        /// The last state that logind reported. A screen that was locked counts as locked while logind does not answer.
        var state: LoginState?
        /// Since when logind answers; nil while it does not.
        var answersSince: ContinuousClock.Instant?
        var isToldOf = false
    }
    private let seen = Mutex(Seen())

    /// Creates a watch that has not started.
    package init(_ options: Options) { self.options = options }

    /// Whether the screen is locked by logind's last report; false if there was none. Can be read from any thread.
    package var isScreenLocked: Bool { seen.withLock { $0.state?.isLocked == true } }

    /// Watches until the task is canceled, and reconnects to the bus when the connection is lost. Call it once.
    ///
    /// - Parameter note: Receives each change; it must not block.
    package func run(_ note: @escaping @Sendable (LoginChange) -> Void) async {
        let firstWait = min(Duration.seconds(1), options.longestWait)
        var wait = firstWait
        while !Task.isCancelled {
            if options.isWanted() {
                await follow(note)
                guard !Task.isCancelled else { return }
                if lose() { wait = firstWait }
            } else {
                wait = min(.seconds(5), options.longestWait)
            }
            try? await Task.sleep(for: wait)
            wait = min(wait * 2, options.longestWait)
        }
    }

    /// Processes the bus's signals until the connection closes.
    private func follow(_ note: @escaping @Sendable (LoginChange) -> Void) async {
        guard let path = DBusAddress.systemSocket(environment: options.environment) else { return }
        let inbox = LoginInbox()
        let opening = try? await DBusConnection.open(
            path: path,
            user: options.user,
            signal: { inbox.put($0) },
            closed: { inbox.close() }
        )
        guard let connection = opening else { return }
        defer { connection.close() }
        let ticking = Task { [interval = options.interval] in
            while (try? await Task.sleep(for: interval)) != nil { inbox.ring() }
        }
        defer { ticking.cancel() }
        let logind = Logind(connection: connection)
        do {
            try await withTaskCancellationHandler {
                try await logind.subscribe()
                inbox.ring()
                for await _ in inbox.rings { try await look(at: logind, inbox, note) }
            } onCancel: {
                connection.close()
            }
        } catch {
            // The caller reconnects, whatever the error was.
        }
    }

    private func look(at logind: Logind, _ inbox: LoginInbox, _ note: @Sendable (LoginChange) -> Void) async throws {
        let owner = try await logind.owner()
        let requests = inbox.takeRequests(of: owner)
        guard owner != nil else {
            lose()
            return
        }
        let state: LoginState
        do {
            state = try await logind.state(of: options.user)
        } catch DBusError.failed {
            return  // logind exited meanwhile, which the bus reports by a signal
        }
        let changes = seen.withLock { seen in
            defer { seen.state = state }
            seen.answersSince = seen.answersSince ?? .now
            return state.changes(since: seen.state, requests: requests)
        }
        for change in LoginChange.allCases where changes.contains(change) { note(change) }
    }

    /// Records that logind does not answer. This is logged once, until logind has answered for ``Options/steadyTime``.
    ///
    /// - Returns: Whether logind had answered for that long.
    @discardableResult private func lose() -> Bool {
        let (wasSteady, isNew) = seen.withLock { seen in
            let wasSteady = seen.answersSince.map { .now - $0 >= options.steadyTime } ?? false
            let isNew = options.isWanted() && (wasSteady || !seen.isToldOf)
            seen.answersSince = nil
            seen.isToldOf = isNew || (seen.isToldOf && !wasSteady)
            return (wasSteady, isNew)
        }
        if isNew { complain() }
        return wasSteady
    }

    private func complain() {
        options.log(
            "systemd-logind does not respond on the system bus: whether the screen is locked or the login session has ended is unknown, "
                + "so SignOutOnLock, SignOutOnSessionEnd and ScreenLockedBehavior have no effect yet."
        )
    }
}

/// The signals received from the bus since the last look.
final class LoginInbox: Sendable {
    /// A request to lock a session, from a sender that may or may not be logind.
    struct LockRequest: Hashable, Sendable {
        var sender: String
        var session: String
    }

    private struct Contents {
        var owner: String?
        var requests: Set<LockRequest> = []
    }

    /// Yields when the sessions should be checked; finishes when the connection closes.
    let rings: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation
    private let contents = Mutex(Contents())

    init() { (rings, bell) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func ring() { bell.yield() }

    func close() { bell.finish() }

    /// Stores a signal. Any user of the bus can send signals to this process. Once logind's bus name is known, signals from other senders
    /// are ignored.
    func put(_ message: DBusMessage) {
        guard let sender = message.sender else { return }
        let matters = contents.withLock { contents in
            guard contents.owner == nil || sender == contents.owner || sender == "org.freedesktop.DBus" else { return false }
            let isRequest = message.interface == Logind.interface("Session") && message.member == "Lock"
            if isRequest, let path = message.path, contents.requests.count < 256 {
                contents.requests.insert(LockRequest(sender: sender, session: path))
            }
            return true
        }
        if matters { ring() }
    }

    /// Returns and removes the sessions that logind has asked to lock.
    ///
    /// - Parameter owner: logind's unique bus name; nil if none is running.
    func takeRequests(of owner: String?) -> Set<String> {
        contents.withLock { contents in
            defer { contents = Contents(owner: owner) }
            return Set(contents.requests.filter { $0.sender == owner }.map(\.session))
        }
    }
}

/// A user action that can end sessions.
package enum LoginChange: Sendable, Hashable, CaseIterable {
    /// The screen was locked.
    case locked
    /// The last of the user's login sessions has ended.
    case sessionEnded
}

extension Agent {
    /// Creates the watch for screen locks and logouts. It is active only while an active profile depends on them.
    func makeLoginWatch(_ current: CurrentExtension) -> LoginWatch {
        LoginWatch(
            LoginWatch.Options(
                environment: options.environment,
                user: geteuid(),
                isWanted: { current.value.policy.configurations.contains(where: \.dependsOnLogin) },
                log: journal.failure
            )
        )
    }
}

extension ExtensionConfiguration {
    /// Whether the profile depends on screen locks or logouts.
    fileprivate var dependsOnLogin: Bool {
        sessionLimits.signOutOnLock || sessionLimits.signOutOnSessionEnd || screenLockedBehavior != nil
    }
}
