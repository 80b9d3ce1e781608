internal import CKerberos

extension EstablishedContext {
    /// Encrypts and signs a message for the other side: `gss_wrap` with confidentiality (RFC 4121 section 4.2). Uses no network.
    ///
    /// - Throws: ``KerberosError``; `flagsNotGranted` if the context does not encrypt.
    package mutating func sealed(_ message: [UInt8]) throws(KerberosError) -> [UInt8] {
        var minor: OM_uint32 = 0
        var isEncrypted: Int32 = 0
        var output = gss_buffer_desc()
        let major = message.withUnsafeBytes { bytes in
            var input = gss_buffer_desc(bytes)
            return gss_wrap(&minor, context.raw, 1, OM_uint32(GSS_C_QOP_DEFAULT), &input, &isEncrypted, &output)
        }
        let token = takeBytes(&output)
        if ckerberos_gss_is_error(major) != 0 { throw .gss(major, minor, subject: acceptor) }
        guard isEncrypted != 0 else { throw notEncrypted }
        return token
    }

    /// Checks and decrypts a message of the other side: `gss_unwrap`. Uses no network.
    ///
    /// - Throws: ``KerberosError``; `flagsNotGranted` if the message is not encrypted, `invalidToken` if it is repeated, is old, or others
    ///   before it are missing, as far as the context detects that.
    package mutating func opened(_ token: [UInt8]) throws(KerberosError) -> [UInt8] {
        var minor: OM_uint32 = 0
        var isEncrypted: Int32 = 0
        var output = gss_buffer_desc()
        let major = token.withUnsafeBytes { bytes in
            var input = gss_buffer_desc(bytes)
            return gss_unwrap(&minor, context.raw, &input, &output, &isEncrypted, nil)
        }
        let message = takeBytes(&output)
        if ckerberos_gss_is_error(major) != 0 { throw .gss(major, minor, subject: acceptor) }
        guard major == GSS_S_COMPLETE else {
            throw KerberosError(.invalidToken, subject: acceptor, message: "the message is repeated, is old, or follows a missing one.")
        }
        guard isEncrypted != 0 else { throw notEncrypted }
        return message
    }

    private var notEncrypted: KerberosError {
        KerberosError(.flagsNotGranted, subject: acceptor, message: "the security context does not encrypt messages.")
    }
}

extension gss_buffer_desc {
    /// A buffer over bytes that are only read.
    fileprivate init(_ bytes: UnsafeRawBufferPointer) {
        self.init(length: bytes.count, value: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }
}
