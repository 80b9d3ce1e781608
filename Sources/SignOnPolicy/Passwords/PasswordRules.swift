public import struct Foundation.Date

/// A profile's rules for the passwords of its realm, as far as a client can check them. The KDC decides.
public struct PasswordRules: Sendable, Hashable, Codable {
    /// The minimum length, in characters: `pwReqLength`.
    public var minimumLength: Int?
    /// Whether a password must meet Active Directory's complexity requirements: `pwReqComplexity`.
    public var requiresComplexity: Bool
    /// A description of the rules, shown if neither length nor complexity is set: `pwReqText`.
    public var requirementsText: String?
    /// The minimum age of a password in days before it may be changed: `pwReqMinAge`.
    public var minimumAge: Int?
    /// How many previous passwords must not be reused: `pwReqHistory`. Only the current one is known here; the KDC checks the others.
    public var history: Int?
    /// The web page where passwords are changed instead: `pwChangeURL`.
    public var changeURL: String?
    /// Whether the user may change the password: `allowPasswordChange`.
    public var isChangeAllowed: Bool
    /// How many days before the expiry notices begin: `pwNotificationDays`.
    public var notificationDays: Int
    /// After how many days a password expires, whatever the KDC says: `pwExpireOverride`. Applies only if the last change is known.
    public var expireOverride: Int?
    /// How many seconds a password change takes to reach all servers of a directory: `replicationTime`. A directory that was read earlier
    /// may not know of the change.
    public var replicationTime: Double
    /// Whether expiry notices are given; false with `performKerberosOnly`.
    public var givesNotices: Bool
    /// The name of the profile's file, for messages.
    public var source: String

    /// Creates rules; the defaults set no requirements.
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
        replicationTime: Double = 900,
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
        self.replicationTime = replicationTime
        self.givesNotices = givesNotices
        self.source = source
    }

    /// Decodes rules. A missing key has its default.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init()
        try container.decode(.minimumLength, into: &minimumLength)
        try container.decode(.requiresComplexity, into: &requiresComplexity)
        try container.decode(.requirementsText, into: &requirementsText)
        try container.decode(.minimumAge, into: &minimumAge)
        try container.decode(.history, into: &history)
        try container.decode(.changeURL, into: &changeURL)
        try container.decode(.isChangeAllowed, into: &isChangeAllowed)
        try container.decode(.notificationDays, into: &notificationDays)
        try container.decode(.expireOverride, into: &expireOverride)
        try container.decode(.replicationTime, into: &replicationTime)
        try container.decode(.givesNotices, into: &givesNotices)
        try container.decode(.source, into: &source)
    }
}

extension Sequence<ExtensionConfiguration> {
    /// The password rules of a realm: those of its first configuration, with the name of its file; without one, the defaults.
    public func passwordRules(for realm: String) -> PasswordRules {
        guard let configuration = first(where: { $0.realm == realm }) else { return PasswordRules() }
        var rules = configuration.passwords
        if rules.source.isEmpty { rules.source = configuration.source }
        return rules
    }
}

extension PasswordRules {
    /// Whether the user may change the password here, not on a web page.
    package var isChangedHere: Bool { isChangeAllowed && changeURL == nil }

    /// The name of the profile's file, for a message.
    package var sourceName: String { source.isEmpty ? "the profile" : source }
}

extension PasswordRules {
    private static func characters(_ count: Int) -> String { count == 1 ? "1 character" : "\(count) characters" }

    /// The requirements for a new password, in a sentence to show before the prompt; nil if unknown.
    public var requirements: String? {
        guard minimumLength != nil || requiresComplexity else { return requirementsText }
        var parts: [String] = []
        if let minimumLength { parts.append("at least \(Self.characters(minimumLength))") }
        if requiresComplexity {
            parts.append("three of: uppercase letters, lowercase letters, digits, other characters, letters of scripts without case")
            parts.append("no part of your name")
        }
        return "The new password requires \(parts.joined(separator: "; "))."
    }

    /// The rules that a new password violates, each in a sentence; empty if none. No sentence reveals anything about the password.
    ///
    /// - Parameters:
    ///   - password: Its UTF-8 bytes, which are not copied.
    ///   - accountName: The principal's name without the realm.
    ///   - displayName: The user's full name, if known.
    public func violations(
        of password: some Collection<UInt8>,
        accountName: String,
        displayName: String? = nil
    ) -> [String] {
        var sentences: [String] = []
        let length = PasswordScalars(password).reduce(into: 0) { count, _ in count += 1 }
        if let minimumLength, length < minimumLength { sentences.append("It requires at least \(Self.characters(minimumLength)).") }
        guard requiresComplexity else { return sentences }
        if Set(PasswordScalars(password).map(CharacterClass.init)).count < 3 {
            sentences.append(
                "It requires characters of three kinds: uppercase letters, lowercase letters, digits, others, letters of scripts "
                    + "without case."
            )
        }
        if Self.contains(password, accountName) { sentences.append("It must not contain the account's name.") }
        if let displayName, Self.parts(of: displayName).contains(where: { Self.contains(password, $0) }) {
            sentences.append("It must not contain a part of your name.")
        }
        return sentences
    }

    /// The parts that Active Directory checks: those between commas, periods, dashes, underscores, spaces, number signs and tabs.
    private static func parts(of name: String) -> [String] {
        name.unicodeScalars.split { ",.-_ #\t".unicodeScalars.contains($0) }.map { String($0) }
    }

    /// Whether a password contains a word of at least three characters, ignoring case.
    private static func contains<Password: Collection<UInt8>>(_ password: Password, _ word: String) -> Bool {
        let wanted = word.unicodeScalars.map(folded)
        guard wanted.count >= 3 else { return false }
        return password.indices.contains { start in
            var rest = PasswordScalars(password[start...]).makeIterator()
            return wanted.allSatisfy { letter in rest.next().map(folded) == letter }
        }
    }

    /// The lower-case letter; the letter itself if its lower-case form has several characters.
    private static func folded(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        let lower = scalar.properties.lowercaseMapping.unicodeScalars
        return lower.count == 1 ? lower.first ?? scalar : scalar
    }
}

/// The five kinds of characters, of which Active Directory requires three.
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

/// The characters of a password, decoded one by one, so that no second copy stays in memory.
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

    /// When a password expires: by the profile if it says so and the last change is known, else by the KDC.
    ///
    /// - Parameters:
    ///   - announced: The expiry according to the KDC.
    ///   - changed: When the password was last changed; nil if unknown.
    public func expiry(announced: Date?, changed: Date?) -> Date? {
        guard let expireOverride, let changed else { return announced }
        return changed.addingTimeInterval(Double(expireOverride) * Self.day)
    }

    /// The earliest time to change the password; nil if there is no minimum age or the last change is unknown.
    public func earliestChange(changed: Date?) -> Date? {
        guard let minimumAge, let changed else { return nil }
        return changed.addingTimeInterval(Double(minimumAge) * Self.day)
    }

    /// Whether to show an expiry notice now.
    public func isNoticeDue(expires: Date, now: Date) -> Bool {
        givesNotices && expires > now && expires.timeIntervalSince(now) <= Double(notificationDays) * Self.day
    }
}
