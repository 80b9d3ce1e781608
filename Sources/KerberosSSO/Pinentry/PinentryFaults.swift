internal import Synchronization

/// Why no question can be put: told when it begins and when it ends, and not again for each that waits.
final class PinentryFaults: Sendable {
    private let report: @Sendable (String?) -> Void
    private let last = Mutex<String?>(nil)

    init(_ report: @escaping @Sendable (String?) -> Void) { self.report = report }

    /// A question could not be put.
    func note(_ sentence: String) {
        guard last.withLock({ last in exchange(&last, sentence) }) else { return }
        report(sentence)
    }

    /// A question was put.
    func forget() {
        guard last.withLock({ last in exchange(&last, nil) }) else { return }
        report(nil)
    }

    /// Whether it was another one.
    private func exchange(_ last: inout String?, _ sentence: String?) -> Bool {
        defer { last = sentence }
        return last != sentence
    }
}
