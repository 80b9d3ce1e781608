internal import Foundation
internal import KCM
internal import SSOAgentClient
internal import Synchronization

/// Writes the agent's log messages, one line each and without secrets, and keeps the last ones for `GET /v1/status`.
final class Journal: Sendable {
    private let write: @Sendable (String) -> Void
    private let lines = Mutex<[StatusDocument.Message]>([])

    /// The number of messages kept; older ones are only in the log.
    static let limit = 8

    init(_ write: @escaping @Sendable (String) -> Void) { self.write = write }

    /// Logs an event that is not a failure.
    func note(_ text: String) { add(text, isFailure: false) }

    /// Logs a failure that needs attention.
    func failure(_ text: String) { add(text, isFailure: true) }

    /// Logs a report of the cache server.
    func add(_ report: ServerReport) {
        switch report {
        case .writesAgain: settle(ServerReport.writeFailure, "\(report)")
        case .acceptsAgain: settle(ServerReport.acceptFailure, "\(report)")
        case .writeFailed, .damaged, .noMoreCaches, .acceptFailed: failure("\(report)")
        case .truncated: note("\(report)")
        }
    }

    /// Logs why the API's socket cannot accept connections, or, for nil, that it accepts them again.
    func acceptsConnections(failure reason: String?) {
        let beginning = "connections to the agent must wait"
        guard let reason else { return settle(beginning, "connections to the agent are accepted again.") }
        failure("\(beginning): \(reason).")
    }

    /// Removes the failures that start with `beginning` from the recent messages, because they no longer apply, and logs `text`.
    func settle(_ beginning: String, _ text: String) {
        lines.withLock { $0.removeAll { $0.isFailure && $0.text.hasPrefix(beginning) } }
        note(text)
    }

    /// The last messages, oldest first. Other messages are dropped before the last failure.
    var recent: [StatusDocument.Message] { lines.withLock { $0 } }

    private func add(_ text: String, isFailure: Bool) {
        write(text)
        let message = StatusDocument.Message(date: Date(), text: text, isFailure: isFailure)
        lines.withLock { lines in
            lines.append(message)
            guard lines.count > Self.limit else { return }
            let last = lines.lastIndex { $0.isFailure }
            lines.remove(at: last == 0 ? 1 : 0)
        }
    }
}
