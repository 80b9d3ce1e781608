internal import ArgumentParser

/// A length of time as kinit takes it: `10h`, `1d12h`, `30m`, `90s`, `7:30` (hours and minutes) or seconds.
package struct Lifetime {
    package let duration: Duration
    /// The text as the user typed it.
    package let argument: String

    package init?(argument: String) {
        guard let seconds = Self.clock(argument) ?? Self.units(argument), seconds > 0 else { return nil }
        self.argument = argument
        duration = .seconds(seconds)
    }

    /// The length in seconds.
    package var seconds: Double { Double(duration.components.seconds) }

    /// The value of an option.
    ///
    /// - Throws: `ValidationError` with the form that it must have.
    package static func option(_ argument: String) throws -> Lifetime {
        guard let lifetime = Lifetime(argument: argument) else {
            throw ValidationError("write a time with units, such as 90s, 30m, 10h or 1d12h; without a unit it is in seconds.")
        }
        return lifetime
    }

    private static func clock(_ text: String) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
        guard (2...3).contains(parts.count), let hours = parts[0], let minutes = parts[1], hours >= 0, (0..<60).contains(minutes) else {
            return nil
        }
        guard let seconds = parts.count == 3 ? parts[2] : 0, (0..<60).contains(seconds), hours < 100_000 else { return nil }
        return hours * 3600 + minutes * 60 + seconds
    }

    private static func units(_ text: String) -> Int? {
        let factors: [Character: Int] = ["d": 86400, "h": 3600, "m": 60, "s": 1]
        var total = 0
        var digits = ""
        for character in text.lowercased() {
            if character.isASCII, character.isNumber {
                digits.append(character)
                continue
            }
            guard let factor = factors[character], let number = Int(digits), number < 1_000_000 else { return nil }
            total += number * factor
            digits = ""
        }
        guard !digits.isEmpty else { return total }
        guard let number = Int(digits), number < 1_000_000_000 else { return nil }
        return total + number
    }
}

/// How long to keep what has expired: a ``Lifetime``, or `never` for no removal.
package struct ExpiredPeriod {
    /// Nil keeps it for ever.
    package let duration: Duration?

    /// The value of an option.
    ///
    /// - Throws: `ValidationError` with the form that it must have.
    package static func option(_ argument: String) throws -> ExpiredPeriod {
        guard argument.lowercased() != "never" else { return ExpiredPeriod(duration: nil) }
        // It decides what is removed: seven days must not be seven seconds.
        guard !argument.allSatisfy(\.isNumber), let lifetime = Lifetime(argument: argument) else {
            throw ValidationError("write a time with units, such as 12h or 7d, or never.")
        }
        return ExpiredPeriod(duration: lifetime.duration)
    }
}
