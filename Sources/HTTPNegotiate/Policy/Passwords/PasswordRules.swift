public import struct Foundation.Date

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

extension PasswordRules {
    /// What a new password must be, in a sentence to show before it is asked for; nil where nothing is known.
    public var requirements: String? {
        guard minimumLength != nil || requiresComplexity else { return requirementsText }
        var parts: [String] = []
        if let minimumLength { parts.append("at least \(minimumLength) characters") }
        if requiresComplexity {
            parts.append("three of: capital letters, small letters, digits, other characters, letters of scripts without case")
            parts.append("no part of your name")
        }
        return "The new password needs \(parts.joined(separator: "; "))."
    }

    /// Which rules a new password breaks, each in a sentence; none where it breaks none. No sentence tells anything of the password.
    ///
    /// - Parameters:
    ///   - password: Its bytes in UTF-8. Nothing is copied of it.
    ///   - accountName: The principal's name without the realm.
    ///   - displayName: The person's own name, if it is known.
    public func violations(
        of password: some Collection<UInt8>,
        accountName: String,
        displayName: String? = nil
    ) -> [String] {
        var sentences: [String] = []
        let length = PasswordScalars(password).reduce(into: 0) { count, _ in count += 1 }
        if let minimumLength, length < minimumLength { sentences.append("It needs at least \(minimumLength) characters.") }
        guard requiresComplexity else { return sentences }
        if Set(PasswordScalars(password).map(CharacterClass.init)).count < 3 {
            sentences.append(
                "It needs characters of three kinds: capital letters, small letters, digits, others, letters of scripts without case."
            )
        }
        if Self.contains(password, accountName) { sentences.append("It must not contain the account's name.") }
        if let displayName, Self.parts(of: displayName).contains(where: { Self.contains(password, $0) }) {
            sentences.append("It must not contain a part of your name.")
        }
        return sentences
    }

    /// The parts that Active Directory looks for: what stands between commas, periods, dashes, underscores, spaces, number signs and tabs.
    private static func parts(of name: String) -> [String] {
        name.unicodeScalars.split { ",.-_ #\t".unicodeScalars.contains($0) }.map { String($0) }
    }

    /// Whether a word of three characters or more stands in a password, in whatever case.
    private static func contains<Password: Collection<UInt8>>(_ password: Password, _ word: String) -> Bool {
        let wanted = word.unicodeScalars.map(folded)
        guard wanted.count >= 3 else { return false }
        return password.indices.contains { start in
            var rest = PasswordScalars(password[start...]).makeIterator()
            return wanted.allSatisfy { letter in rest.next().map(folded) == letter }
        }
    }

    /// One letter for both cases; where they are of different lengths, the letter itself.
    private static func folded(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        let lower = scalar.properties.lowercaseMapping.unicodeScalars
        return lower.count == 1 ? lower.first ?? scalar : scalar
    }
}

/// The five kinds of characters of which Active Directory wants three.
private enum CharacterClass: Hashable {
    case capital, small, digit, other, caseless

    init(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "0"..."9": self = .digit
        case _ where scalar.properties.isUppercase: self = .capital
        case _ where scalar.properties.isLowercase: self = .small
        case _ where scalar.properties.isAlphabetic: self = .caseless
        default: self = .other
        }
    }
}

/// The characters of a password, read one by one out of its bytes, so that no second copy lies about in memory.
private struct PasswordScalars<Bytes: Collection<UInt8>>: Sequence {
    private let bytes: Bytes

    init(_ bytes: Bytes) { self.bytes = bytes }

    struct Iterator: IteratorProtocol {
        var bytes: Bytes.Iterator
        var decoder = UTF8()

        mutating func next() -> Unicode.Scalar? {
            switch decoder.decode(&bytes) {
            case .scalarValue(let scalar): scalar
            case .emptyInput: nil
            case .error: "\u{FFFD}"
            }
        }
    }

    func makeIterator() -> Iterator { Iterator(bytes: bytes.makeIterator()) }
}

extension PasswordRules {
    private static let day = 86_400.0

    /// When a password expires: by the profile where it says so and the last change is known, else by the KDC.
    ///
    /// - Parameters:
    ///   - announced: What the KDC has said.
    ///   - changed: When the password was changed last; nil where nobody knows.
    public func expiry(announced: Date?, changed: Date?) -> Date? {
        guard let expireOverride, let changed else { return announced }
        return changed.addingTimeInterval(Double(expireOverride) * Self.day)
    }

    /// From when on a password may be changed; nil where it may be at any time, and where the last change is not known.
    public func earliestChange(changed: Date?) -> Date? {
        guard let minimumAge, let changed else { return nil }
        return changed.addingTimeInterval(Double(minimumAge) * Self.day)
    }

    /// Whether it is time to tell that a password expires.
    public func isNoticeDue(expires: Date, now: Date) -> Bool {
        givesNotices && expires > now && expires.timeIntervalSince(now) <= Double(notificationDays) * Self.day
    }
}
