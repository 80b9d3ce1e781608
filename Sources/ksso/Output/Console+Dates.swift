internal import CommandSupport
internal import Foundation
internal import HTTPNegotiate

extension Console {
    /// Formats a date for display.
    static func text(_ date: Date) -> String { date.localText }
}
