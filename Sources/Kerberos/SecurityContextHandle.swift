internal import CKerberos

/// Owns one `gss_ctx_id_t`, which one thread at a time may use: it can't be copied, so it has one owner at any time.
///
/// `@unchecked Sendable`: libgssapi ties a context to no thread, and the single owner keeps two threads from using it at once.
struct SecurityContextHandle: ~Copyable, @unchecked Sendable {
    var raw: gss_ctx_id_t?

    init() {}

    deinit {
        guard raw != nil, !ProcessEnd.hasBegun else { return }
        var minor: OM_uint32 = 0
        var raw = raw
        gss_delete_sec_context(&minor, &raw, nil)
    }
}

/// Takes the bytes of a buffer that GSSAPI made, and releases it.
func takeBytes(_ buffer: inout gss_buffer_desc) -> [UInt8] {
    defer {
        var minor: OM_uint32 = 0
        gss_release_buffer(&minor, &buffer)
    }
    return Array(buffer.bytes)
}

/// The text of a name, and releases it.
func takeName(_ name: inout gss_name_t?) -> String {
    guard name != nil else { return "" }
    var minor: OM_uint32 = 0
    var buffer = gss_buffer_desc()
    defer { gss_release_name(&minor, &name) }
    guard gss_display_name(&minor, name, &buffer, nil) == GSS_S_COMPLETE else { return "" }
    return String(decoding: takeBytes(&buffer), as: UTF8.self)
}
