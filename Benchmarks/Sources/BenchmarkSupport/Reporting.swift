import Foundation

/// Why something was not measured.
package struct Unavailable: Error, CustomStringConvertible {
    package let reason: String
    package var description: String { reason }

    package init(reason: String) { self.reason = reason }
}

/// Prints at once, whatever standard output is.
package func report(_ text: String) {
    print(text)
    fflush(nil)
}

/// This program, to be run again.
package func ownPath() throws -> String {
    try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
}

extension [Double] {
    /// The middle one, so that one interruption does not decide.
    package var median: Double { sorted()[count / 2] }
}

extension String {
    package func padded(_ width: Int) -> String { count < width ? self + String(repeating: " ", count: width - count) : self }
    package func rightAligned(_ width: Int) -> String { String(repeating: " ", count: Swift.max(0, width - count)) + self }
}
