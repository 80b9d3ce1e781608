internal import CKerberos

/// Owns a GSSAPI service name, in the form that is cheapest to create tokens for.
///
/// `@unchecked Sendable`: the name is not changed after import.
final class GSSName: @unchecked Sendable {
    let raw: gss_name_t

    /// Imports a principal name unchanged, without lookups.
    ///
    /// For a plain name, the krb5 mechanism inside SPNEGO would import and release it with each token, and read krb5.conf both times. An
    /// exported name identifies its mechanism, and a name that is canonical for SPNEGO is used as is.
    init(principal: Principal) throws(KerberosError) {
        let subject = principal.description
        let plain = try Self.imported(Array(subject.utf8), type: ckerberos_nt_krb5_principal(), subject: subject)
        defer { Self.release(plain) }
        let kerberos = try Self.canonical(plain, ckerberos_mech_krb5(), subject: subject)
        defer { Self.release(kerberos) }
        let exported = try Self.importedExport(Self.exported(kerberos, subject: subject), subject: subject)
        defer { Self.release(exported) }
        raw = try Self.canonical(exported, ckerberos_mech_spnego(), subject: subject)
    }

    deinit {
        if !ProcessEnd.hasBegun { Self.release(raw) }
    }

    private static func imported(_ bytes: [UInt8], type: gss_OID?, subject: String) throws(KerberosError) -> gss_name_t {
        var minor: OM_uint32 = 0
        var name: gss_name_t?
        let major = bytes.withUnsafeBytes { bytes in
            var buffer = gss_buffer_desc()
            buffer.length = bytes.count
            buffer.value = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
            return gss_import_name(&minor, &buffer, type, &name)
        }
        guard ckerberos_gss_is_error(major) == 0, let name else { throw .gss(major, minor, subject: subject) }
        return name
    }

    /// Imports an exported name (RFC 2743 section 3.2). The type is built here because `GSS_C_NT_EXPORT_NAME` is a mutable global in C.
    private static func importedExport(_ bytes: [UInt8], subject: String) throws(KerberosError) -> gss_name_t {
        var identifier: [UInt8] = [0x2b, 0x06, 0x01, 0x05, 0x06, 0x04]
        let result = identifier.withUnsafeMutableBytes { elements in
            var type = gss_OID_desc(length: OM_uint32(elements.count), elements: elements.baseAddress)
            return Result { () throws(KerberosError) in try imported(bytes, type: &type, subject: subject) }
        }
        return try result.get()
    }

    private static func canonical(_ name: gss_name_t, _ mechanism: gss_OID?, subject: String) throws(KerberosError) -> gss_name_t {
        var minor: OM_uint32 = 0
        var canonical: gss_name_t?
        let major = gss_canonicalize_name(&minor, name, mechanism, &canonical)
        guard ckerberos_gss_is_error(major) == 0, let canonical else { throw .gss(major, minor, subject: subject) }
        return canonical
    }

    private static func exported(_ name: gss_name_t, subject: String) throws(KerberosError) -> [UInt8] {
        var minor: OM_uint32 = 0
        var buffer = gss_buffer_desc()
        let major = gss_export_name(&minor, name, &buffer)
        guard ckerberos_gss_is_error(major) == 0 else { throw .gss(major, minor, subject: subject) }
        return takeBytes(&buffer)
    }

    private static func release(_ name: gss_name_t) {
        var minor: OM_uint32 = 0
        var name: gss_name_t? = name
        gss_release_name(&minor, &name)
    }
}

/// Owns a `gss_cred_id_t` for SPNEGO, with krb5 as the only mechanism inside.
///
/// `@unchecked Sendable`: libgssapi locks a credential itself, and the handle is set once.
final class GSSCredentialHandle: @unchecked Sendable {
    let raw: gss_cred_id_t

    /// Acquires the credential from a store (`gss_acquire_cred_from`), so that no environment variable is required.
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

    /// Stops contexts from offering to sign and encrypt messages (`GSS_KRB5_CRED_NO_CI_FLAGS_X`). Call this before the credential is used.
    func suppressProtectionFlags(subject: String) throws(KerberosError) {
        var minor: OM_uint32 = 0
        var handle: gss_cred_id_t? = raw
        let major = gss_set_cred_option(&minor, &handle, ckerberos_cred_no_ci_flags(), nil)
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
