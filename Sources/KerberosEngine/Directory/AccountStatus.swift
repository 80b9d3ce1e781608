internal import ActiveDirectory
public import Foundation

/// What the directory of an Active Directory domain said about the account of a session.
public struct AccountStatus: Sendable, Hashable, Codable {
    /// Why an account cannot sign in. New kinds may be added.
    public struct Problem: RawRepresentable, Sendable, Hashable, Codable {
        /// The stable name of the kind.
        public let rawValue: String
        /// Creates a kind from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// An administrator disabled it.
        public static let disabled = Problem(rawValue: "disabled")
        /// It is locked after wrong passwords.
        public static let locked = Problem(rawValue: "locked")
        /// It has expired.
        public static let expired = Problem(rawValue: "expired")
    }

    /// When the directory was read, by this machine's clock, like all dates here.
    public let read: Date
    /// When the password was last changed; nil if it must be changed.
    public let passwordChanged: Date?
    /// When the password expires; nil if it never does, or if the directory does not say it. A password that must be changed expired when
    /// the directory was read.
    public let passwordExpires: Date?
    /// Whether the password never expires.
    public let passwordNeverExpires: Bool
    /// Why the account cannot sign in again; nil if it can.
    public let problem: Problem?
    /// The home directory on a file server, such as `\\files\alice`.
    public let homeDirectory: String?
}

extension AccountStatus {
    /// - Parameter clockOffset: How many seconds the domain's clock is ahead.
    init(_ account: DirectoryAccount, at date: Date, clockOffset: Double) {
        func local(_ date: Date) -> Date { date.addingTimeInterval(-clockOffset) }
        read = date
        passwordChanged = account.passwordChanged.map(local)
        passwordExpires =
            switch account.passwordExpiry {
            case .at(let date): local(date)
            case .mustChange: date
            case .never, nil: nil
            }
        passwordNeverExpires = account.passwordExpiry == .never
        problem =
            if account.isDisabled { .disabled } else if account.isLocked { .locked } else if let end = account.expires, local(end) <= date {
                .expired
            } else { nil }
        homeDirectory = account.homeDirectory
    }

    /// The value of the mark in a session's cache.
    var text: String {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Reads the value of a mark; nil if it has another form.
    init?(text: String) {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        guard let status = try? decoder.decode(AccountStatus.self, from: Data(text.utf8)) else { return nil }
        self = status
    }

    /// By how many seconds the clocks of this machine and of the controllers may differ.
    private static let tolerance = 300.0

    /// Whether the directory did not know of a password change yet, because the controller that was read had not received it.
    ///
    /// - Parameters:
    ///   - changed: When this project changed the password.
    ///   - replicationTime: How many seconds a change takes to reach all controllers.
    func precedes(changeAt changed: Date?, replicationTime: Double) -> Bool {
        guard let changed, (passwordChanged ?? .distantPast) < changed.addingTimeInterval(-Self.tolerance) else { return false }
        return read < changed.addingTimeInterval(replicationTime)
    }
}
