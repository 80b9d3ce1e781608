/// How much longer than usual the doctor waits for each answer.
///
/// The usual limits are for a person who waits. On a machine that is starved of processor time, such as one that runs many tests at once,
/// a server that works would be reported as one that does not answer.
enum Patience {
    @TaskLocal static var factor = 1.0
}

extension Duration {
    /// The limit under the current ``Patience``.
    var patient: Duration { self * Patience.factor }
}
