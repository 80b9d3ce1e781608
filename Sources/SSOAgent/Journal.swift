internal import Foundation
internal import KCM
internal import SSOAgentClient
internal import Synchronization

/// What the agent tells its administrator: a line each, with no secrets in it. The last ones are kept for `GET /v1/status`.
final class Journal: Sendable {
    private let write: @Sendable (String) -> Void
    private let lines = Mutex<[StatusDocument.Message]>([])

    /// Enough for what goes together; the log has the rest.
    static let limit = 8

    init(_ write: @escaping @Sendable (String) -> Void) { self.write = write }

    /// Something that went as it should.
    func note(_ text: String) { add(text, isFailure: false) }

    /// Something that somebody should see to.
    func failure(_ text: String) { add(text, isFailure: true) }

    /// What the server of the caches reports.
    func add(_ report: ServerReport) {
        switch report {
        case .writesAgain: settle(ServerReport.writeFailure, "\(report)")
        case .acceptsAgain: settle(ServerReport.acceptFailure, "\(report)")
        case .writeFailed, .damaged, .noMoreCaches, .acceptFailed: failure("\(report)")
        }
    }

    /// Whether the API's socket accepts connections: why not, or nil.
    func acceptsConnections(failure reason: String?) {
        let beginning = "connections to the agent have to wait"
        guard let reason else { return settle(beginning, "connections to the agent are accepted again.") }
        failure("\(beginning): \(reason).")
    }

    /// What began so is true no more.
    func settle(_ beginning: String, _ text: String) {
        lines.withLock { $0.removeAll { $0.isFailure && $0.text.hasPrefix(beginning) } }
        note(text)
    }

    /// The last lines, the oldest first. A failure stays until there are as many others.
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
