/// How much longer than usual a program waits for answers without which it continues.
///
/// The usual limits are for a person who waits. On a machine that is starved of processor time, such as one that runs many tests at once,
/// something that works would be treated as missing.
package enum Patience {
    /// The factor by which `Duration.patient` multiplies a limit.
    @TaskLocal package static var factor = 1.0

    /// The variable that sets the factor of a process.
    package static let variable = "KSSO_PATIENCE"

    /// The factor for a value of the variable: a number from 1 to 100. Otherwise 1.
    package static func factor(of value: String?) -> Double {
        guard let factor = value.flatMap(Double.init), 1...100 ~= factor else { return 1 }
        return factor
    }
}

extension Duration {
    /// The limit under the current ``Patience``.
    package var patient: Duration { self * Patience.factor }
}
