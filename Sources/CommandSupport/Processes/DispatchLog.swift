internal import Foundation

/// Controls what libdispatch writes to the system log.
///
/// Swift gives the tasks of a command a high priority. Without the permission to raise a thread's priority, libdispatch works nevertheless,
/// but logs this at each start as a failure.
package enum DispatchLog {
    private static let variable = "LIBDISPATCH_LOG"
    /// The value of the variable when the process started.
    private static let given = ProcessInfo.processInfo.environment[variable]

    /// Turns the log off, unless the user has set the variable. Call it before the first task.
    package static func silence() { if given == nil { setenv(variable, "NO", 1) } }

    /// Restores the original value of the variable for a program that this process executes.
    package static func restore(in environment: inout [String: String]) { environment[variable] = given }
}
