internal import NIOCore

/// An event for the administrator; its description is a sentence.
package enum ServerReport: Hashable, Sendable, CustomStringConvertible {
    /// A change could not be written. The client received only an error code.
    case writeFailed(StorageError)
    /// Changes can be written again.
    case writesAgain
    /// An entry of the directory is not a cache file, or cannot be read.
    case damaged(DamagedEntry)
    /// The end of a cache's file could not be read and was removed.
    case truncated(TruncatedFile)
    /// A user has reached the limit of caches, and no expired one can be removed.
    case noMoreCaches(user: UInt32, limit: Int)
    /// New connections cannot be accepted for now.
    case acceptFailed(String)
    /// New connections are accepted again.
    case acceptsAgain

    /// Whether the administrator should act.
    package var isFailure: Bool {
        switch self {
        case .writeFailed, .damaged, .noMoreCaches, .acceptFailed: true
        case .truncated, .writesAgain, .acceptsAgain: false
        }
    }

    /// The text that begins the description of every ``writeFailed(_:)``.
    package static let writeFailure = "tickets cannot be written"
    /// The text that begins the description of every ``acceptFailed(_:)``.
    package static let acceptFailure = "connections to the credential caches must wait"

    package var description: String {
        switch self {
        case .writeFailed(let error): "\(Self.writeFailure): \(error)"
        case .writesAgain: "tickets are written again."
        case .damaged(let entry): "\(entry)"
        case .truncated(let file): "\(file)"
        case .noMoreCaches(let user, let limit):
            "user \(user) has \(limit) credential caches, which is the limit (--max-caches). "
                + "Remove unused caches with kdestroy -c NAME, or all of them with kdestroy -A."
        case .acceptFailed(let reason): "\(Self.acceptFailure): \(reason)."
        case .acceptsAgain: "connections to the credential caches are accepted again."
        }
    }
}

/// Forwards reports, once for each change of state, because clients can cause a failure as often as they like.
///
/// Used only on the server's event loop.
final class ReportFilter {
    private let report: (@Sendable (ServerReport) -> Void)?
    /// When each kind of write failure last occurred.
    private var writeFailures: [StorageError.Code: NIODeadline] = [:]
    /// When each user was last reported to have too many caches.
    private var fullUsers: [UInt32: NIODeadline] = [:]

    init(_ report: (@Sendable (ServerReport) -> Void)?) { self.report = report }

    /// The time without a failure after which a failure state has ended.
    static let quiet = TimeAmount.seconds(60)
    /// The interval at which a user is reported again to have too many caches.
    private static let repetition = TimeAmount.minutes(10)

    func report(_ entries: [DamagedEntry]) { for entry in entries { report?(.damaged(entry)) } }

    func report(_ files: [TruncatedFile]) { for file in files { report?(.truncated(file)) } }

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
