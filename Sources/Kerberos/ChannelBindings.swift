internal import CKerberos

/// Ties a security context to the TLS connection that carries it (RFC 5929): `tls-server-end-point:` and the certificate's hash.
public struct ChannelBindings: Sendable, Hashable {
    /// The application data, prefix included.
    public let applicationData: [UInt8]

    /// Bindings with this application data; addresses are left out.
    public init(applicationData: [UInt8]) {
        self.applicationData = applicationData
    }
}

extension ChannelBindings {
    /// Lends GSSAPI's structure, or nil for no bindings.
    static func withRaw<Value>(_ bindings: ChannelBindings?, _ body: (gss_channel_bindings_t?) -> Value) -> Value {
        guard let bindings else { return body(nil) }
        return bindings.applicationData.withUnsafeBytes { bytes in
            var raw = gss_channel_bindings_struct()
            raw.application_data.length = bytes.count
            raw.application_data.value = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
            return withUnsafeMutablePointer(to: &raw) { body($0) }
        }
    }
}
