internal import Dispatch

/// Runs blocking calls on threads of their own, never on Swift's shared task threads.
///
/// The call can't be canceled. It must have a time limit of its own, or its caller must be able to abandon it.
package enum BlockingCall {
    /// Runs the call and returns its value.
    package static func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "kerberos.blocking").async { continuation.resume(returning: body()) }
        }
    }
}
