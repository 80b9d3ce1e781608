internal import Foundation
internal import HTTPNegotiate
internal import KerberosEngine
internal import Synchronization

/// Sees that a user locks the screen or leaves the machine, through systemd-logind.
package final class LoginWatch: Sendable {
    /// How a watch works.
    package struct Options: Sendable {
        /// The variables that say where the system's bus is.
        package var environment: [String: String]
        /// Whose login sessions.
        package var user: UInt32
        /// Whether anybody wants to know: until then no bus is asked.
        package var isWanted: @Sendable () -> Bool
        /// Gets a line when it is wanted and can't be known.
        package var log: @Sendable (String) -> Void
        /// How often the sessions are looked at although no signal came: one whose last process lingers ends without one.
        package var interval = Duration.seconds(30)
        /// The longest wait before the bus is tried again.
        package var longestWait = Duration.seconds(30)
        /// Where logind has answered for less long, its loss is the same trouble as the one before, and no news.
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
        /// What logind said last: while nobody tells, a locked screen stays locked.
        var state: LoginState?
        /// Since when it answers; nil while it does not.
        var answersSince: ContinuousClock.Instant?
        var isToldOf = false
    }
    private let seen = Mutex(Seen())

    /// A watch that sees nothing yet.
    package init(_ options: Options) { self.options = options }

    /// Whether the screen is locked, by what logind said last; false where it has said nothing. From any thread.
    package var isScreenLocked: Bool { seen.withLock { $0.state?.isLocked == true } }

    /// Watches until the task is canceled; a bus that is away is tried again. Run it once.
    ///
    /// - Parameter note: Gets what happens; it must not wait.
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

    /// Follows what a bus tells until it is gone.
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
            // Whatever it was, the bus is asked anew.
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
            return  // logind ended meanwhile: that is told
        }
        let changes = seen.withLock { seen in
            defer { seen.state = state }
            seen.answersSince = seen.answersSince ?? .now
            return state.changes(since: seen.state, requests: requests)
        }
        for change in LoginChange.allCases where changes.contains(change) { note(change) }
    }

    /// Nobody tells any more. It is logged once, until logind has answered for some time.
    ///
    /// - Returns: Whether it had.
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
            "no systemd-logind answers on the system's message bus: whether the screen is locked or the login session has ended is not known, "
                + "and SignOutOnLock, SignOutOnSessionEnd and ScreenLockedBehavior wait for it."
        )
    }
}

/// What the bus has told since somebody last looked.
final class LoginInbox: Sendable {
    /// A session was told to lock itself, by somebody who says to be logind.
    struct LockRequest: Hashable, Sendable {
        var sender: String
        var session: String
    }

    private struct Contents {
        var owner: String?
        var requests: Set<LockRequest> = []
    }

    /// Yields when there is something to look at; ends with the connection.
    let rings: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation
    private let contents = Mutex(Contents())

    init() { (rings, bell) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func ring() { bell.yield() }

    func close() { bell.finish() }

    /// Takes a signal. Any user of the bus can send us one: once it is known who logind is, those of others are not even looked at.
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

    /// The sessions that logind has told to lock themselves.
    ///
    /// - Parameter owner: logind's connection; nil where none runs.
    func takeRequests(of owner: String?) -> Set<String> {
        contents.withLock { contents in
            defer { contents = Contents(owner: owner) }
            return Set(contents.requests.filter { $0.sender == owner }.map(\.session))
        }
    }
}

/// What a user did at the machine, as far as it ends sessions.
package enum LoginChange: Sendable, Hashable, CaseIterable {
    /// The screen was locked.
    case locked
    /// The last of the user's login sessions has ended.
    case sessionEnded
}

extension Agent {
    /// What sees that the user locks the screen or leaves, where a profile in force makes something of it.
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
    /// Whether it matters what the user does at the machine.
    fileprivate var dependsOnLogin: Bool {
        sessionLimits.signOutOnLock || sessionLimits.signOutOnSessionEnd || screenLockedBehavior != nil
    }
}
