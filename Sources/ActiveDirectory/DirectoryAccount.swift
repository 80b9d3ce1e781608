public import struct Foundation.Date

/// An account as Active Directory describes it to its owner.
public struct DirectoryAccount: Sendable, Hashable {
    /// When a password expires.
    public enum PasswordExpiry: Sendable, Hashable {
        /// At a time, which may have passed.
        case at(Date)
        /// Never: by the account's settings, or by the rules of the domain.
        case never
        /// It must be changed at the next sign-in.
        case mustChange
    }

    /// The place in the directory.
    public let distinguishedName: String
    /// The name of the principal, without the realm (`sAMAccountName`).
    public let name: String
    /// The user principal name (`userPrincipalName`).
    public let principalName: String?
    /// The person's name.
    public let displayName: String?
    /// When the password was last changed (`pwdLastSet`); nil if it must be changed.
    public let passwordChanged: Date?
    /// When the password expires, by the rules that apply to this account, fine-grained ones included
    /// (`msDS-UserPasswordExpiryTimeComputed`); nil if the directory does not say it.
    public let passwordExpiry: PasswordExpiry?
    /// Whether an administrator has disabled the account.
    public let isDisabled: Bool
    /// Whether the account is locked after wrong passwords.
    public let isLocked: Bool
    /// When the account expires; nil is never.
    public let expires: Date?
    /// The home directory on a file server (`homeDirectory`), such as `\\files\alice`.
    public let homeDirectory: String?
    /// The home directory on Unix (`unixHomeDirectory`).
    public let unixHomeDirectory: String?
}

extension DirectoryAccount {
    /// The attributes that are requested.
    static let attributes = [
        "sAMAccountName", "userPrincipalName", "displayName", "pwdLastSet", "msDS-UserPasswordExpiryTimeComputed", "userAccountControl",
        "msDS-User-Account-Control-Computed", "accountExpires", "homeDirectory", "unixHomeDirectory", "msDS-ResultantPSO",
    ]

    private static let disabledFlag: Int64 = 0x0002
    private static let lockedFlag: Int64 = 0x0010

    /// Reads an entry; nil if it has no name.
    init?(_ entry: LDAPEntry) {
        guard let name = entry["sAMAccountName"] else { return nil }
        distinguishedName = entry.distinguishedName
        self.name = name
        principalName = entry["userPrincipalName"]
        displayName = entry["displayName"]
        passwordChanged = entry.number("pwdLastSet").flatMap(WindowsTime.date)
        passwordExpiry = entry.number("msDS-UserPasswordExpiryTimeComputed").map { value in
            if value == 0 { return .mustChange }
            return WindowsTime.date(value).map(PasswordExpiry.at) ?? .never
        }
        isDisabled = (entry.number("userAccountControl") ?? 0) & Self.disabledFlag != 0
        isLocked = (entry.number("msDS-User-Account-Control-Computed") ?? 0) & Self.lockedFlag != 0
        expires = entry.number("accountExpires").flatMap(WindowsTime.date)
        homeDirectory = entry["homeDirectory"]
        unixHomeDirectory = entry["unixHomeDirectory"]
    }
}

/// The rules for passwords in a domain.
public struct DomainPasswordRules: Sendable, Hashable {
    /// The minimum length in characters.
    public let minimumLength: Int?
    /// How many former passwords cannot be used again.
    public let history: Int?
    /// Whether a password must contain characters of three kinds, and no part of the account's name.
    public let requiresComplexity: Bool?
    /// For how many seconds a new password cannot be changed.
    public let minimumAge: Double?
    /// After how many seconds a password expires; nil is never, or unknown.
    public let maximumAge: Double?
    /// After how many wrong passwords the account is locked; 0 is never.
    public let lockoutThreshold: Int?
}

extension DomainPasswordRules {
    /// The attributes of the domain's own entry.
    static let domainAttributes = ["minPwdLength", "pwdHistoryLength", "pwdProperties", "minPwdAge", "maxPwdAge", "lockoutThreshold"]
    /// The attributes of a password settings object, which sets other rules for some accounts.
    static let settingsAttributes = [
        "msDS-MinimumPasswordLength", "msDS-PasswordHistoryLength", "msDS-PasswordComplexityEnabled", "msDS-MinimumPasswordAge",
        "msDS-MaximumPasswordAge", "msDS-LockoutThreshold",
    ]

    private static let complexityFlag: Int64 = 1

    /// Reads the domain's entry.
    init(domain entry: LDAPEntry) {
        minimumLength = entry.number("minPwdLength").map { Int($0) }
        history = entry.number("pwdHistoryLength").map { Int($0) }
        requiresComplexity = entry.number("pwdProperties").map { $0 & Self.complexityFlag != 0 }
        minimumAge = entry.number("minPwdAge").flatMap(WindowsTime.seconds)
        maximumAge = entry.number("maxPwdAge").flatMap(WindowsTime.seconds).flatMap { $0 == 0 ? nil : $0 }
        lockoutThreshold = entry.number("lockoutThreshold").map { Int($0) }
    }

    /// Reads a password settings object.
    init(settings entry: LDAPEntry) {
        minimumLength = entry.number("msDS-MinimumPasswordLength").map { Int($0) }
        history = entry.number("msDS-PasswordHistoryLength").map { Int($0) }
        requiresComplexity = entry["msDS-PasswordComplexityEnabled"].map { $0 == "TRUE" }
        minimumAge = entry.number("msDS-MinimumPasswordAge").flatMap(WindowsTime.seconds)
        maximumAge = entry.number("msDS-MaximumPasswordAge").flatMap(WindowsTime.seconds).flatMap { $0 == 0 ? nil : $0 }
        lockoutThreshold = entry.number("msDS-LockoutThreshold").map { Int($0) }
    }
}

/// Windows' times: counts of 100 nanoseconds ([MS-DTYP] section 2.3.3).
enum WindowsTime {
    private static let unitsPerSecond = 10_000_000.0
    /// The seconds from 1601 to 1970.
    private static let epoch = 11_644_473_600.0

    /// The date of a count since 1601; nil for 0 and for the largest value, which mean that there is none.
    static func date(_ value: Int64) -> Date? {
        value <= 0 || value == .max ? nil : Date(timeIntervalSince1970: Double(value) / unitsPerSecond - epoch)
    }

    /// The length of a period, which is stored as a negative count; nil for the smallest value, which means for ever.
    static func seconds(_ value: Int64) -> Double? {
        value == .min ? nil : Double(value.magnitude) / unitsPerSecond
    }
}
