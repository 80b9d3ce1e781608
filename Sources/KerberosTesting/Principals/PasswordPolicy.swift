/// What passwords have to be like, and how many wrong ones lock an account (kadmin's `add_policy`).
public struct PasswordPolicy: Sendable {
    /// The name by which a ``TestPrincipal`` refers to it.
    public var name: String
    /// The least number of characters.
    public var minimumLength: Int?
    /// Of how many of the five classes (small letters, capitals, digits, punctuation, all others) there has to be a character: 1 to 5.
    public var minimumClasses: Int?
    /// How many passwords, the present one included, cannot be taken again.
    public var history: Int?
    /// How long a password has to be kept, in whole seconds.
    public var minimumLifetime: Duration?
    /// After how long a password expires, in whole seconds.
    public var maximumLifetime: Duration?
    /// How many wrong passwords lock the account; principals under it have to pre-authenticate, or none is counted.
    public var maximumFailures: Int?
    /// After how long without a wrong password the count starts anew, in whole seconds; never if nil.
    public var failureCountInterval: Duration?
    /// For how long the account is locked, in whole seconds; until ``TestRealm/unlock(_:)`` if nil.
    public var lockoutDuration: Duration?

    /// Describes a policy; what is nil is not limited.
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

    /// The words of kadmin's command before the name.
    func options() throws -> [String] {
        func refuse(_ reason: String) -> KerberosTestingError {
            KerberosTestingError(.invalidArgument, "The password policy \(name.isEmpty ? "without a name" : name): \(reason)")
        }
        if name.isEmpty { throw refuse("give it a name, such as strict.") }
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
