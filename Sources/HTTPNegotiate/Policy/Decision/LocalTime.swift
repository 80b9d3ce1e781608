package import struct Foundation.Date
package import struct Foundation.TimeZone

extension Date {
    /// The date for messages: local time with its offset from UTC, such as `2030-01-31 12:00:00 +0100`. JSON uses ISO 8601 instead.
    package var localText: String { localText(in: .current) }

    /// The date for messages in another time zone.
    package func localText(in zone: TimeZone) -> String {
        let style = Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: zone)
        let minutes = zone.secondsFromGMT(for: self) / 60
        let offset = String(abs(minutes) / 60 * 100 + abs(minutes) % 60)
        let digits = String(repeating: "0", count: max(0, 4 - offset.count)) + offset
        return style.year().month().day().time(includingFractionalSeconds: false).format(self) + (minutes < 0 ? " -" : " +") + digits
    }
}
