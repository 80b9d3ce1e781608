internal import CKerberos

/// The only place where a realm's context lives: an actor on a queue of its own.
///
/// One realm, one context: libkrb5 keeps the KDC's clock offset per context, and a second realm must not inherit it.
actor RealmWorker {
    private let executor: SerialQueueExecutor
    private let configuration: RealmConfiguration
    private let trace: (@Sendable (String) -> Void)?
    private let clockOffset: ClockOffset
    private var opened: Context?

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ configuration: RealmConfiguration, clockOffset: ClockOffset, trace: (@Sendable (String) -> Void)?) {
        self.configuration = configuration
        self.clockOffset = clockOffset
        self.trace = trace
        executor = SerialQueueExecutor(label: "kerberos.\(configuration.realm)")
    }

    /// Runs blocking C on this actor's thread.
    func run<Value: Sendable>(
        _ body: @Sendable (Context) throws(KerberosError) -> Value
    ) -> Result<Value, KerberosError> {
        Result { () throws(KerberosError) in
            let context = try context()
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
