/// The requirements for passwords, and the number of wrong ones that locks an account (kadmin's `add_policy`).
public struct PasswordPolicy: Sendable {
    /// The name by which a ``TestPrincipal`` refers to it.
    public var name: String
    /// The minimum number of characters.
    public var minimumLength: Int?
    /// The minimum number of character classes (lower case, upper case, digits, punctuation, all others), from 1 to 5.
    public var minimumClasses: Int?
    /// The number of passwords, including the current one, that cannot be reused.
    public var history: Int?
    /// The minimum lifetime of a password, in whole seconds.
    public var minimumLifetime: Duration?
    /// The maximum lifetime of a password, in whole seconds.
    public var maximumLifetime: Duration?
    /// The number of wrong passwords that locks the account. They are counted only for principals that require pre-authentication.
    public var maximumFailures: Int?
    /// The time without a wrong password after which the count is reset, in whole seconds; never if nil.
    public var failureCountInterval: Duration?
    /// How long the account stays locked, in whole seconds; until ``TestRealm/unlock(_:)`` if nil.
    public var lockoutDuration: Duration?

    /// Creates a policy; a nil value sets no limit.
    public init(
        _ name: String,
        minimumLength: Int? = nil,
        minimumClasses: Int? = nil,
        history: Int? = nil,
        minimumLifetime: Duration? = nil,
        maximumLifetime: Duration? = nil,
        maximumFailures: Int? = nil,
        failureCountInterval: Duration? = nil,
        lockoutDuration: Duration? = nil
    ) {
        self.name = name
        self.minimumLength = minimumLength
        self.minimumClasses = minimumClasses
        self.history = history
        self.minimumLifetime = minimumLifetime
        self.maximumLifetime = maximumLifetime
        self.maximumFailures = maximumFailures
        self.failureCountInterval = failureCountInterval
        self.lockoutDuration = lockoutDuration
    }

    /// Returns the options of kadmin's command, without the name.
    func options() throws -> [String] {
        func refuse(_ reason: String) -> KerberosTestingError {
            KerberosTestingError(.invalidArgument, "The password policy \(name.isEmpty ? "without a name" : name): \(reason)")
        }
        if name.isEmpty { throw refuse("set a name, such as strict.") }
        let numbers = [
            ("-minlength", minimumLength), ("-minclasses", minimumClasses), ("-history", history), ("-maxfailure", maximumFailures),
        ]
        let times = [
            ("-minlife", minimumLifetime), ("-maxlife", maximumLifetime), ("-failurecountinterval", failureCountInterval),
            ("-lockoutduration", lockoutDuration),
        ]
        for case (let option, let number?) in numbers where number < 1 { throw refuse("\(option) is at least 1, not \(number).") }
        if let minimumClasses, minimumClasses > 5 { throw refuse("there are five classes of characters, not \(minimumClasses).") }
        for case (let option, let time?) in times where time < .seconds(1) { throw refuse("\(option) is at least a second, not \(time).") }
        return numbers.flatMap { option, number in number.map { [option, "\($0)"] } ?? [] }
            + times.flatMap { option, time in time.map { [option, "\"\($0.components.seconds) seconds\""] } ?? [] }
    }
}
