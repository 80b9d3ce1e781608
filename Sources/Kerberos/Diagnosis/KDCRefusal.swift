internal import CKerberos

internal import struct Foundation.Date

/// A KRB-ERROR of a KDC (RFC 4120 section 5.9.1).
struct KDCRefusal {
    /// The KDC's time.
    let time: Date?
    private let code: Int32

    init?(_ message: [UInt8], context: Context) {
        var error: UnsafeMutablePointer<krb5_error>?
        let status = message.withUnsafeBufferPointer { buffer in
            var data = krb5_data()
            data.length = UInt32(buffer.count)
            data.data = UnsafeMutableRawPointer(mutating: buffer.baseAddress)?.assumingMemoryBound(to: CChar.self)
            return krb5_rd_error(context.raw, &data, &error)
        }
        guard status == 0, let error else { return nil }
        defer { krb5_free_error(context.raw, error) }
        // Seconds without a sign, which are good until 2106.
        let seconds = UInt32(bitPattern: error.pointee.stime)
        time = seconds == 0 ? nil : Date(timeIntervalSince1970: Double(seconds) + Double(error.pointee.susec) / 1_000_000)
        code = Int32(truncatingIfNeeded: error.pointee.error)
    }

    /// What it says of a principal; nil where it only wants more: a proof (25, 91), or TCP (52).
    func error(of principal: Principal, context: Context) -> KerberosError? {
        guard ![25, 91, 52].contains(code) else { return nil }
        let status = krb5_error_code(truncatingIfNeeded: Int(KRB5KDC_ERR_NONE) + Int(code))
        return .library(status, .signIn, subject: principal.description, context: context.raw)
    }
}
