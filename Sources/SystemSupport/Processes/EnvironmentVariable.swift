internal import Foundation

/// One variable of this process's environment.
package enum EnvironmentVariable {
    /// Returns the value of a variable, or nil if it is not set (`getenv`).
    ///
    /// `ProcessInfo` converts all variables at each call, which is a percent of the instructions of a short command.
    package static func value(of name: String) -> String? { unsafe getenv(name).map { unsafe String(cString: $0) } }
}
