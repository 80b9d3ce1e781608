/// How much longer than usual a program waits for answers without which it continues.
///
/// The usual limits are for a person who waits. On a machine that is starved of processor time, such as one that runs many tests at once,
/// something that works would be treated as missing.
package enum Patience {
    /// The factor by which `Duration.patient` multiplies a limit.
    @TaskLocal package static var factor = 1.0

    /// The factor in the variable `KSSO_PATIENCE`: a number from 1 to 100. Otherwise 1.
    package static func factor(in environment: [String: String]) -> Double {
        guard let value = environment["KSSO_PATIENCE"].flatMap(Double.init), 1...100 ~= value else { return 1 }
        return value
    }
}

extension Duration {
    /// The limit under the current ``Patience``.
    package var patient: Duration { self * Patience.factor }
}
