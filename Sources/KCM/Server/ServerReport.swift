internal import NIOCore

/// What an administrator should read of a server; its description is a sentence.
package enum ServerReport: Hashable, Sendable, CustomStringConvertible {
    /// A change could not be written; the client got a code alone.
    case writeFailed(StorageError)
    /// Changes are written again.
    case writesAgain
    /// An entry of the directory is no file of a cache, or none that can be read.
    case damaged(DamagedEntry)
    /// A user has as many caches as are permitted, and none of them has expired.
    case noMoreCaches(user: UInt32, limit: Int)
    /// New connections have to wait.
    case acceptFailed(String)
    /// New connections are accepted again.
    case acceptsAgain

    /// Whether an administrator should act on it.
    package var isFailure: Bool {
        switch self {
        case .writeFailed, .damaged, .noMoreCaches, .acceptFailed: true
        case .writesAgain, .acceptsAgain: false
        }
    }

    /// What the description of every ``writeFailed(_:)`` begins with.
    package static let writeFailure = "tickets can't be written"
    /// What the description of every ``acceptFailed(_:)`` begins with.
    package static let acceptFailure = "connections to the credential caches have to wait"

    package var description: String {
        switch self {
        case .writeFailed(let error): "\(Self.writeFailure): \(error)"
        case .writesAgain: "tickets are written again."
        case .damaged(let entry): "\(entry)"
        case .noMoreCaches(let user, let limit):
            "user \(user) has \(limit) credential caches, which is the limit (--max-caches). "
                + "Remove those of no use with kdestroy -c NAME, or all of them with kdestroy -A."
        case .acceptFailed(let reason): "\(Self.acceptFailure): \(reason)."
        case .acceptsAgain: "connections to the credential caches are accepted again."
        }
    }
}

/// Passes reports on, a state at a time: clients can cause a failure as often as they like.
///
/// On the server's event loop alone.
final class ReportFilter {
    private let report: (@Sendable (ServerReport) -> Void)?
    /// When each failure to write was last seen, by its kind.
    private var writeFailures: [StorageError.Code: NIODeadline] = [:]
    /// When a user was last reported to have too many caches.
    private var fullUsers: [UInt32: NIODeadline] = [:]

    init(_ report: (@Sendable (ServerReport) -> Void)?) { self.report = report }

    /// A state that has not been seen for so long has ended.
    static let quiet = TimeAmount.seconds(60)
    /// How often a user is reported to have too many caches.
    private static let repetition = TimeAmount.minutes(10)

    func report(_ entries: [DamagedEntry]) { for entry in entries { report?(.damaged(entry)) } }

    func writeFailed(_ error: StorageError, now: NIODeadline = .now()) {
        let last = writeFailures.updateValue(now, forKey: error.code)
        if last == nil { report?(.writeFailed(error)) }
    }

    func wrote(now: NIODeadline = .now()) {
        guard !writeFailures.isEmpty else { return }
        writeFailures = writeFailures.filter { now - $0.value < Self.quiet }
        if writeFailures.isEmpty { report?(.writesAgain) }
    }

    func noMoreCaches(user: UInt32, limit: Int, now: NIODeadline = .now()) {
        if let last = fullUsers[user], now - last < Self.repetition { return }
        fullUsers = fullUsers.filter { now - $0.value < Self.repetition }
        fullUsers[user] = now
        report?(.noMoreCaches(user: user, limit: limit))
    }
}
