internal import CKerberos

internal import struct Foundation.Date

/// Takes what the KDC's answer says of the password's expiry (`krb5_get_init_creds_opt_set_expire_callback`): one of it for one sign-in.
final class PasswordExpiry {
    private var timestamp: krb5_timestamp = 0

    /// The callback; its data is an unretained object of this class.
    static let callback: krb5_expire_callback_func = { _, data, password, _, _ in
        guard let data else { return }
        Unmanaged<PasswordExpiry>.fromOpaque(data).takeUnretainedValue().timestamp = password
    }

    /// When the password expires; nil where nobody knows, and where it never does.
    func date(at now: Date) -> Date? { Self.date(Int64(timestamp), at: now) }

    /// Reads a time of the KDC. Nil for 0 and for what is beyond: KDCs write "never" as the last second that fits into 31 bits, as -1, or,
    /// as Windows does, as a day of September 2037. A password with which somebody has just signed in has not expired, whatever is written.
    static func date(_ seconds: Int64, at now: Date) -> Date? {
        let date = Date(timeIntervalSince1970: Double(seconds))
        return seconds > 0 && seconds < endOfTime && date > now ? date : nil
    }

    /// 2037-09-13 02:48:05 UTC.
    private static let endOfTime: Int64 = 2_136_422_885
}
