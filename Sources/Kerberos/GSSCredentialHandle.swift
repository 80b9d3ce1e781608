internal import CKerberos

/// Owns one `gss_cred_id_t` that offers SPNEGO with krb5 as the only mechanism inside.
///
/// `@unchecked Sendable`: libgssapi guards a credential with a lock of its own, and the handle is set once.
final class GSSCredentialHandle: @unchecked Sendable {
    let raw: gss_cred_id_t

    /// Acquires the credential from a store (`gss_acquire_cred_from`), so that no environment variable is needed.
    init(usage: Int32, store: [(String, String)], subject: String) throws(KerberosError) {
        var acquired: gss_cred_id_t?
        var minor: OM_uint32 = 0
        var major = Self.withStore(store) { store in
            withMechanism(ckerberos_mech_spnego()) { spnego in
                gss_acquire_cred_from(&minor, nil, OM_uint32(GSS_C_INDEFINITE), spnego, usage, store, &acquired, nil, nil)
            }
        }
        guard ckerberos_gss_is_error(major) == 0, let acquired else { throw .gss(major, minor, subject: subject) }
        raw = acquired
        major = withMechanism(ckerberos_mech_krb5()) { krb5 in gss_set_neg_mechs(&minor, acquired, krb5) }
        if ckerberos_gss_is_error(major) != 0 { throw .gss(major, minor, subject: subject) }
    }

    deinit {
        if ProcessEnd.hasBegun { return }
        var minor: OM_uint32 = 0
        var raw: gss_cred_id_t? = raw
        gss_release_cred(&minor, &raw)
    }

    private static func withStore<Value>(_ pairs: [(String, String)], _ body: (gss_const_key_value_set_t) -> Value) -> Value {
        let copies = pairs.map { (strdup($0.0), strdup($0.1)) }
        defer {
            for (key, value) in copies {
                free(key)
                free(value)
            }
        }
        var elements = copies.map { gss_key_value_element_desc(key: $0.0, value: $0.1) }
        return elements.withUnsafeMutableBufferPointer { buffer in
            var set = gss_key_value_set_desc(count: UInt32(buffer.count), elements: buffer.baseAddress)
            return withUnsafePointer(to: &set) { body($0) }
        }
    }
}

/// Lends a set of one mechanism.
private func withMechanism<Value>(_ mechanism: gss_OID?, _ body: (gss_OID_set?) -> Value) -> Value {
    var set = gss_OID_set_desc(count: 1, elements: mechanism)
    return withUnsafeMutablePointer(to: &set) { body($0) }
}
