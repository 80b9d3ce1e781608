/// Why a domain controller refuses an account, for which the KDC has one code: the status of Windows in the data of its error
/// (KERB-ERROR-DATA and KERB_EXT_ERROR, [MS-KILE] sections 2.2.1 and 2.2.2).
///
/// Samba's controller sends it for disabled and expired accounts, in a list of other data.
enum AccountRefusal: UInt32, Sendable, CaseIterable {
    case disabled = 0xC000_0072
    case locked = 0xC000_0234
    case expired = 0xC000_0193
    case outsideHours = 0xC000_006F
    case otherWorkstation = 0xC000_0070

    /// Reads the data of an error; nil if they say something else. The bytes are untrusted.
    init?(data: [UInt8]) {
        guard var rest = BasicEncoding.content(of: data[...], BasicEncoding.sequence) else { return nil }
        guard rest.first == BasicEncoding.sequence else {
            self.init(entry: rest)
            return
        }
        while let entry = BasicEncoding.next(in: &rest, BasicEncoding.sequence) {
            guard let refusal = Self(entry: entry) else { continue }
            self = refusal
            return
        }
        return nil
    }

    /// KERB_ERR_TYPE_EXTENDED.
    private static let type: [UInt8] = [3]

    private init?(entry: ArraySlice<UInt8>) {
        typealias Encoding = BasicEncoding
        var fields = entry
        guard let number = Encoding.next(in: &fields, Encoding.context(1)).flatMap({ Encoding.content(of: $0, Encoding.integer) }),
            let value = Encoding.next(in: &fields, Encoding.context(2)).flatMap({ Encoding.content(of: $0, Encoding.octetString) }),
            Array(number) == Self.type, value.count == 12
        else { return nil }
        self.init(rawValue: value.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) })
    }

    /// The kind of error.
    var code: KerberosError.Code { self == .expired ? .accountExpired : .accountLocked }

    /// What the controller said, and what to do.
    var sentence: String {
        switch self {
        case .disabled: "the account is disabled. Ask your administrator."
        case .locked: "the account is locked after wrong passwords. Wait until the domain unlocks it, or ask your administrator."
        case .expired: "the account has expired. Ask your administrator."
        case .outsideHours: "this is outside the account's logon hours. Try again later, or ask your administrator."
        case .otherWorkstation: "the account may not sign in on this machine. Ask your administrator."
        }
    }
}
