package import struct Foundation.Date

/// A number with its noun, such as `1 ticket` or `2 tickets`.
///
/// - Parameter plural: The plural; nil adds an s to the noun.
package func quantity(_ number: some BinaryInteger, _ noun: String, plural: String? = nil) -> String {
    "\(number) \(number == 1 ? noun : plural ?? "\(noun)s")"
}

extension Date {
    /// The time until the date for messages, in one unit and rounded down, such as `9 h left`; nil if the date has passed.
    ///
    /// - Parameter now: The current time.
    package func timeLeft(now: Date = Date()) -> String? {
        let seconds = Int(timeIntervalSince(now))
        guard seconds > 0 else { return nil }
        let units = [(name: "d", seconds: 86_400), (name: "h", seconds: 3600), (name: "min", seconds: 60)]
        // The smaller unit is more exact while its number is small.
        guard let unit = units.first(where: { seconds >= 2 * $0.seconds }) else { return "\(seconds) s left" }
        return "\(seconds / unit.seconds) \(unit.name) left"
    }

    /// The date and, if it has not passed, the time until it: `2030-01-31 12:00:00 +0100 (9 h left)`.
    package var localTextWithTimeLeft: String { timeLeft().map { "\(localText) (\($0))" } ?? localText }
}
