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
