internal import ArgumentParser
internal import CommandSupport

/// How long to keep what has expired: a ``Lifetime``, or `never` for no removal.
struct ExpiredPeriod {
    /// Nil keeps it for ever.
    let duration: Duration?

    /// The value of an option.
    ///
    /// - Throws: `ValidationError` with the form that it must have.
    static func option(_ argument: String) throws -> ExpiredPeriod {
        guard argument.lowercased() != "never" else { return ExpiredPeriod(duration: nil) }
        // It decides what is removed: seven days must not be seven seconds.
        guard !argument.allSatisfy(\.isNumber), let lifetime = Lifetime(argument: argument) else {
            throw ValidationError("write a time with units, such as 12h or 7d, or never.")
        }
        return ExpiredPeriod(duration: lifetime.duration)
    }
}
