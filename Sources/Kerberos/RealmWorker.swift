internal import CKerberos

/// The only place where a context of a realm's lives: an actor on a queue of its own.
///
/// libkrb5 keeps the KDC's clock offset per context, and a second realm must not inherit it. A realm has one context for the calls that may
/// ask a KDC, which learns the offset, and one for those that do not, which takes it over before each call.
actor RealmWorker {
    private let executor: SerialQueueExecutor
    private let configuration: RealmConfiguration
    private let trace: (@Sendable (String) -> Void)?
    private let clockOffset: ClockOffset
    private let isLocal: Bool
    private var opened: Context?

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter isLocal: Whether no call asks a KDC.
    init(
        _ configuration: RealmConfiguration,
        clockOffset: ClockOffset,
        isLocal: Bool = false,
        trace: (@Sendable (String) -> Void)?
    ) {
        self.configuration = configuration
        self.clockOffset = clockOffset
        self.trace = trace
        self.isLocal = isLocal
        executor = SerialQueueExecutor(label: "kerberos.\(configuration.realm)")
    }

    /// Runs blocking C on this actor's thread.
    func run<Value: Sendable>(
        _ body: @Sendable (Context) throws(KerberosError) -> Value
    ) -> Result<Value, KerberosError> {
        Result { () throws(KerberosError) in
            let context = try context()
            if isLocal {
                clockOffset.apply(to: context)
                return try body(context)
            }
            let before = context.clockOffset
            defer { clockOffset.learn(from: context, since: before) }
            return try body(context)
        }
    }

    private func context() throws(KerberosError) -> Context {
        if let opened { return opened }
        let context = try Context(configuration, trace: trace)
        clockOffset.apply(to: context)
        opened = context
        return context
    }
}
