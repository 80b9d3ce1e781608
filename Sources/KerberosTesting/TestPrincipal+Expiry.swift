public import struct Foundation.Date

extension TestPrincipal {
    /// When a principal or its password expires, by the database's clock.
    public struct Expiry: Sendable, Hashable {
        private enum Time: Hashable {
            case never
            case at(Date)
            case after(Duration)
        }

        private let time: Time

        /// Never.
        public static let never = Expiry(time: .never)
        /// A day ago.
        public static let past = Expiry(time: .after(.seconds(-86_400)))

        /// At a moment, to the second.
        public static func at(_ date: Date) -> Expiry { Expiry(time: .at(date)) }

        /// So long after the principal has been added or changed, in whole seconds.
        public static func after(_ duration: Duration) -> Expiry { Expiry(time: .after(duration)) }

        /// As kadmin reads it, in UTC whatever the process's time zone is.
        var words: String {
            switch time {
            case .never: "never"
            case .at(let date): Self.words(date)
            case .after(let duration): Self.words(Date(timeIntervalSinceNow: Double(duration.components.seconds)))
            }
        }

        private static func words(_ date: Date) -> String {
            let style = Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZoneSeparator: .omitted).year().month().day()
                .time(includingFractionalSeconds: false)
            return "\(date.formatted(style)) UTC"
        }
    }
}
