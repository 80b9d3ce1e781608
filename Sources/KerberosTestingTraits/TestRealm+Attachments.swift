public import KerberosTesting
public import Testing

extension TestRealm {
    /// Attaches the KDCs' log, the configuration files and libkrb5's trace to the test that runs now; no file that is empty.
    ///
    /// `.testRealm(…)` does so by itself for a test that fails. For realms of `withTestRealm` and its like, call it.
    public func attachLogs(sourceLocation: SourceLocation = #_sourceLocation) {
        for (file, text) in diagnosticFiles() {
            Attachment.record(text, named: "\(name)-\(file)", sourceLocation: sourceLocation)
        }
    }
}
