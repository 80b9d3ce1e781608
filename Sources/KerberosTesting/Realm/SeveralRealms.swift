/// Runs a closure with any number of fresh realms and the trusts between them.
///
/// Each realm's krb5.conf knows all the KDCs but no `domain_realm`: the KDCs refer. A client of `A.TEST` that asks its own KDC for
/// `HTTP/web.b.test` is sent to `B.TEST`, because the domain of a realm is its name in lower case. ``TestRealm/current`` is the first one.
///
/// - Parameters:
///   - options: What each realm starts with; their names must differ.
///   - trusts: Which realms share keys.
///   - paths: By which realms users get to a realm that shares no key with theirs; nil is the shortest way there is, for each pair of
///     realms.
///   - body: The closure, which runs where the caller runs; the realms are in the order of their options.
/// - Returns: What the closure returns.
/// - Throws: As ``withTestRealm(_:_:)``; the code is `invalidArgument` for realms that are not there and for steps without a trust.
nonisolated(nonsending) public func withTestRealms<R>(
    _ options: [TestRealmOptions],
    trusts: [RealmTrust] = [],
    paths: [RealmPath]? = nil,
    _ body: nonisolated(nonsending) ([TestRealm]) async throws -> R
) async throws -> R {
    let links = try RealmLinks.make(options.map(\.name), trusts: trusts, paths: paths)
    return try await withRealms(options[...], links: links, started: []) { realms in
        for realm in realms {
            let others = realms.filter { $0.name != realm.name }
            try realm.center.setPeers(others.map { try RealmFiles.Peer(realm: $0.name, address: $0.address, ports: $0.center.clientPorts) })
        }
        return try await body(realms)
    }
}

/// Starts the last realm first, so that the first one is the innermost and thereby the current one.
nonisolated(nonsending) private func withRealms<R>(
    _ options: ArraySlice<TestRealmOptions>,
    links: [String: RealmLinks],
    started: [TestRealm],
    _ body: nonisolated(nonsending) ([TestRealm]) async throws -> R
) async throws -> R {
    guard let last = options.last else { return try await body(started) }
    return try await withRealm(last, links: links[last.name] ?? RealmLinks()) { realm in
        try await withRealms(options.dropLast(), links: links, started: [realm] + started, body)
    }
}

/// Runs a closure with two fresh realms that trust each other: the short form of ``withTestRealms(_:trusts:paths:_:)``.
///
/// - Parameters:
///   - first: What the first realm starts with; its name must differ from the second's.
///   - second: What the second realm starts with.
///   - body: The closure, which runs where the caller runs.
/// - Returns: What the closure returns.
/// - Throws: As ``withTestRealm(_:_:)``.
nonisolated(nonsending) public func withTrustedRealms<R>(
    _ first: TestRealmOptions = .init(name: "A.TEST"),
    _ second: TestRealmOptions = .init(name: "B.TEST"),
    _ body: nonisolated(nonsending) (_ first: TestRealm, _ second: TestRealm) async throws -> R
) async throws -> R {
    try await withTestRealms([first, second], trusts: [.twoWay(first.name, second.name)]) { try await body($0[0], $0[1]) }
}

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

/// The realms that lead from one realm to another with which it shares no key (`[capaths]` of krb5.conf).
public struct RealmPath: Sendable, Hashable {
    /// The realm of the users.
    public var from: String
    /// The realm of the services.
    public var to: String
    /// The realms between, in order.
    public var through: [String]

    /// Describes a path; each step needs a ``RealmTrust``.
    public init(from: String, to: String, through: [String]) {
        self.from = from
        self.to = to
        self.through = through
    }
}

/// What ties a realm to others: shared keys, and the ways that its KDC sends users.
struct RealmLinks: Sendable {
    /// The passwords of the principals that it shares with other realms, such as `krbtgt/B.TEST@A.TEST`.
    var keys: [String: String] = [:]
    /// Realms that its users can reach. The KDC refers services in their domains to them.
    var reachable: [String] = []
    /// All the paths through realms between, the same for each realm: the last KDC checks what the first one chose.
    var paths: [RealmPath] = []

    /// The links of each realm, by its name.
    ///
    /// - Parameter paths: nil is the shortest for each pair of realms that share no key.
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` for names that are not there or are there twice.
    static func make(_ names: [String], trusts: [RealmTrust], paths: [RealmPath]?) throws -> [String: RealmLinks] {
        guard Set(names).count == names.count else {
            throw KerberosTestingError(
                .invalidArgument,
                "Realms that know each other need names of their own: \(names.joined(separator: ", "))."
            )
        }
        let directions = Set(trusts.flatMap(\.directions))
        for name in directions.flatMap({ [$0.from, $0.to] }) + (paths ?? []).flatMap({ [$0.from, $0.to] }) where !names.contains(name) {
            throw KerberosTestingError(.invalidArgument, "There is no realm \(name) among \(names.joined(separator: ", ")).")
        }
        let paths = paths ?? shortestPaths(names, directions)
        for path in paths { try check(path, directions) }
        var links = Dictionary(uniqueKeysWithValues: names.map { ($0, RealmLinks(paths: paths)) })
        for direction in directions {
            let password = randomPassword()
            for name in [direction.from, direction.to] { links[name]?.keys["krbtgt/\(direction.to)@\(direction.from)"] = password }
        }
        for name in names {
            links[name]?.reachable = names.filter { other in
                directions.contains(.init(from: name, to: other)) || paths.contains { $0.from == name && $0.to == other }
            }
        }
        return links
    }

    private static func check(_ path: RealmPath, _ directions: Set<RealmTrust.Direction>) throws {
        let stations = [path.from] + path.through + [path.to]
        for (from, to) in zip(stations, stations.dropFirst()) where !directions.contains(.init(from: from, to: to)) {
            let message = "The path from \(path.from) to \(path.to) needs a trust from \(from) to \(to)."
            throw KerberosTestingError(.invalidArgument, message)
        }
    }

    private static func shortestPaths(_ names: [String], _ directions: Set<RealmTrust.Direction>) -> [RealmPath] {
        names.flatMap { from -> [RealmPath] in
            var routes: [String: [String]] = [from: []]
            var queue = [from]
            while let station = queue.first {
                queue.removeFirst()
                let way = (routes[station] ?? []) + (station == from ? [] : [station])
                for next in names where routes[next] == nil && directions.contains(.init(from: station, to: next)) {
                    routes[next] = way
                    queue.append(next)
                }
            }
            return names.compactMap { to in
                guard let through = routes[to], !through.isEmpty else { return nil }
                return RealmPath(from: from, to: to, through: through)
            }
        }
    }
}

extension [RealmPath] {
    /// The `[capaths]` section; empty without paths.
    var configuration: String {
        guard !isEmpty else { return "" }
        let realms = Dictionary(grouping: self, by: \.from).sorted { $0.key < $1.key }.map { from, paths in
            let lines = paths.flatMap { path in path.through.map { "        \(path.to) = \($0)\n" } }
            return "    \(from) = {\n\(lines.joined())    }\n"
        }
        return "[capaths]\n\(realms.joined())"
    }
}
