/// What a profile says of the passwords of its realm, as far as a client can hold to it: the KDC has the last word.
public struct PasswordRules: Sendable, Hashable {
    /// The least length, in characters: `pwReqLength`.
    public var minimumLength: Int?
    /// Whether a password must be complex as Active Directory has it: `pwReqComplexity`.
    public var requiresComplexity: Bool
    /// The rules in words, where neither length nor complexity is given: `pwReqText`.
    public var requirementsText: String?
    /// How many days a password must be in use before it may be changed again: `pwReqMinAge`.
    public var minimumAge: Int?
    /// How many former passwords may not come again: `pwReqHistory`. Only the current one is known here; the KDC judges the rest.
    public var history: Int?
    /// The page where passwords are changed instead: `pwChangeURL`.
    public var changeURL: String?
    /// Whether the user may change the password: `allowPasswordChange`.
    public var isChangeAllowed: Bool
    /// How many days before its expiry a notice is given: `pwNotificationDays`.
    public var notificationDays: Int
    /// After how many days a password expires, whatever the KDC says: `pwExpireOverride`. It counts from a change that is known.
    public var expireOverride: Int?
    /// Whether notices of an expiry are given: not with `performKerberosOnly`.
    public var givesNotices: Bool
    /// Where the rules come from, for messages: the profile's file name.
    public var source: String

    /// Makes rules; what is left out is no rule.
    public init(
        minimumLength: Int? = nil,
        requiresComplexity: Bool = false,
        requirementsText: String? = nil,
        minimumAge: Int? = nil,
        history: Int? = nil,
        changeURL: String? = nil,
        isChangeAllowed: Bool = true,
        notificationDays: Int = 15,
        expireOverride: Int? = nil,
        givesNotices: Bool = true,
        source: String = ""
    ) {
        self.minimumLength = minimumLength
        self.requiresComplexity = requiresComplexity
        self.requirementsText = requirementsText
        self.minimumAge = minimumAge
        self.history = history
        self.changeURL = changeURL
        self.isChangeAllowed = isChangeAllowed
        self.notificationDays = notificationDays
        self.expireOverride = expireOverride
        self.givesNotices = givesNotices
        self.source = source
    }
}

extension Sequence<ExtensionConfiguration> {
    /// The rules for the passwords of a realm: those of its first configuration, with the name of its file; else none.
    public func passwordRules(for realm: String) -> PasswordRules {
        guard let configuration = first(where: { $0.realm == realm }) else { return PasswordRules() }
        var rules = configuration.passwords
        if rules.source.isEmpty { rules.source = configuration.source }
        return rules
    }
}

extension PasswordRules {
    /// Whether the user may change the password here, and not on a page elsewhere.
    package var isChangedHere: Bool { isChangeAllowed && changeURL == nil }

    /// The profile's name for a message.
    package var sourceName: String { source.isEmpty ? "the profile" : source }
}
