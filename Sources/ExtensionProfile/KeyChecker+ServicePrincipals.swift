import HTTPNegotiate

extension KeyChecker {
    /// Entry by entry: the origin, the principal, and that no origin stands twice.
    static func servicePrincipalFaults(_ entries: [String: ProfileValue]) -> [Fault] {
        var faults: [Fault] = []
        var texts: [Origin: String] = [:]
        for (text, value) in entries.sorted(by: { $0.key < $1.key }) {
            do throws(HostRuleError) {
                let origin = try ServicePrincipalEntry.origin(text)
                if let other = texts[origin] {
                    let reason = "this is the same origin as \(ProfileKeyPath.readable(other)); leave one of the two out"
                    faults.append(Fault(.badValue(reason: reason), at: [.key(text)]))
                }
                texts[origin] = text
            } catch {
                faults.append(Fault(.badValue(reason: error.reason), at: [.key(text)]))
            }
            do throws(HostRuleError) {
                try ServicePrincipalEntry.check(value.string ?? "")
            } catch {
                faults.append(Fault(.badValue(reason: error.reason), at: [.key(text)]))
            }
        }
        return faults
    }
}
