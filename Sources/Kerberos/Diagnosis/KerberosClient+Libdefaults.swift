extension KerberosClient {
    /// By how many seconds clocks may differ: `clockskew`.
    package func clockTolerance() async throws(KerberosError) -> Double {
        try await libdefault("clockskew").flatMap(Double.init) ?? 300
    }

    /// A relation of `[libdefaults]`, as libkrb5 sees it here.
    package func libdefault(_ name: String) async throws(KerberosError) -> String? {
        try await perform { context throws(KerberosError) in try context.values(["libdefaults", name]).first }
    }
}
