import HTTPNegotiate

/// The key of our own that says when tickets are got anew.
enum RenewalKey {
    static let name = "RenewAtFraction"

    /// Sooner the KDC would be asked without end; later a KDC that is away for a while would end the session.
    static let range = 0.1...0.95

    /// What the keys of a payload say; a value with a fault says nothing.
    static func fraction(in keys: [String: ProfileValue]) -> Double? {
        keys[name]?.number.flatMap { range.contains($0) ? $0 : nil }
    }
}

extension KeyChecker {
    static func renewalFault(_ value: ProfileValue) -> KeyVerdict? {
        guard let number = value.number, !RenewalKey.range.contains(number) else { return nil }
        let (least, most) = (RenewalKey.range.lowerBound, RenewalKey.range.upperBound)
        return .badValue(reason: "found \(value), expected a part of the ticket's life, from \(least) to \(most)")
    }
}
