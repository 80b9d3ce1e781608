import Foundation

/// The reason why something was not measured.
package struct Unavailable: Error, CustomStringConvertible {
    package let reason: String
    package var description: String { reason }

    package init(reason: String) { self.reason = reason }
}

/// Prints and flushes standard output, even if it is not a terminal.
package func report(_ text: String) {
    print(text)
    fflush(nil)
}

/// The path of this program, which starts itself as a child process.
package func ownPath() throws -> String {
    try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
}

extension [Double] {
    /// The median, which one interruption does not change.
    package var median: Double { sorted()[count / 2] }
}

extension String {
    package func padded(_ width: Int) -> String { count < width ? self + String(repeating: " ", count: width - count) : self }
    package func rightAligned(_ width: Int) -> String { String(repeating: " ", count: Swift.max(0, width - count)) + self }
}
