/// A key that two realms share, by which users of the one get tickets for services of the other.
public struct RealmTrust: Sendable, Hashable {
    /// The realms whose users are served, each with the realm whose services they reach.
    let directions: [Direction]

    struct Direction: Sendable, Hashable {
        var from: String
        var to: String
    }

    /// Users of the first realm reach services of the second, and not the other way round: the second trusts the first.
    public static func oneWay(from users: String, to services: String) -> RealmTrust {
        RealmTrust(directions: [Direction(from: users, to: services)])
    }

    /// Users of each realm reach services of the other.
    public static func twoWay(_ first: String, _ second: String) -> RealmTrust {
        RealmTrust(directions: [Direction(from: first, to: second), Direction(from: second, to: first)])
    }
}
