internal import KerberosTesting

extension KerberosTestingError {
    /// The error in the command's terms: what is an argument in Swift is none here.
    var commandText: String { "\(self)".replacing(/, or name its folder[^.]*pluginDirectory/, with: "") }
}
