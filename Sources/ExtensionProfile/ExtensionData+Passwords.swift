public import Foundation
public import HTTPNegotiate

/// Passwords: their age, their rules, how they are changed and kept.
extension ExtensionData {
    /// Whether a user may change the password.
    public var allowPasswordChange: Bool? { values["allowPasswordChange"]?.boolean }
    /// Whether a password may be saved.
    public var allowAutomaticLogin: Bool? { values["allowAutomaticLogin"]?.boolean }
    /// Whether a saved password is released only to somebody present.
    public var requireUserPresence: Bool? { values["requireUserPresence"]?.boolean }
    /// Days that a password may be used. Deprecated.
    public var pwExpireOverride: Int? { values["pwExpireOverride"]?.integer }
    /// Days before expiry at which a user is told.
    public var pwNotificationDays: Int? { values["pwNotificationDays"]?.integer }
    /// The least length of a password.
    public var pwReqLength: Int? { values["pwReqLength"]?.integer }
    /// Whether a password must be complex as Active Directory has it.
    public var pwReqComplexity: Bool? { values["pwReqComplexity"]?.boolean }
    /// The least age of a password before it may be changed; days by all appearance.
    public var pwReqMinAge: Int? { values["pwReqMinAge"]?.integer }
    /// How many former passwords may not come again.
    public var pwReqHistory: Int? { values["pwReqHistory"]?.integer }
    /// The rules for passwords in words.
    public var pwReqText: String? { values["pwReqText"]?.string }
    /// The same as RTF.
    public var pwReqRTFData: Data? { values["pwReqRTFData"]?.data }
    /// The page where a password is changed.
    public var pwChangeURL: String? { values["pwChangeURL"]?.string }
    /// What these keys say together.
    public var passwordRules: PasswordRules {
        PasswordRules(
            minimumLength: pwReqLength,
            requiresComplexity: pwReqComplexity ?? false,
            requirementsText: pwReqText,
            minimumAge: pwReqMinAge,
            history: pwReqHistory,
            changeURL: pwChangeURL,
            isChangeAllowed: allowPasswordChange ?? true,
            notificationDays: pwNotificationDays ?? 15,
            expireOverride: pwExpireOverride,
            givesNotices: performKerberosOnly != true
        )
    }
    /// Whether the local account gets the same password.
    public var syncLocalPassword: Bool? { values["syncLocalPassword"]?.boolean }
}
