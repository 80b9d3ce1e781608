internal import Dispatch

/// Runs a call that may wait, on a thread of its own: never on those that Swift's tasks share.
///
/// The call can't be canceled. It must have a limit of its own, or its caller must be ready to leave it.
package enum BlockingCall {
    /// Runs it and returns its value.
    package static func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "kerberos.blocking").async { continuation.resume(returning: body()) }
        }
    }
}
