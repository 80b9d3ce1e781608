/// The key of our own that says which ticket protects sign-ins.
enum ArmorCacheKey {
    static let name = "ArmorCache"
}

extension KeyChecker {
    /// A cache with its type: a path alone would depend on the folder in which a program was started.
    static func armorCacheFault(_ text: String) -> KeyVerdict? {
        let types = ["FILE:/", "DIR:/", "DIR::/", "KCM:", "KEYRING:"]
        guard !types.contains(where: text.hasPrefix) else { return nil }
        return .badValue(
            reason: "found \(text.debugDescription), expected a credential cache with its type, such as FILE:/run/machine-ticket or KCM:"
        )
    }
}
