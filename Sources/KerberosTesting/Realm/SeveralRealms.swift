/// Runs a closure with any number of fresh realms and the trusts between them.
///
/// Each realm's krb5.conf contains all the KDCs but no `domain_realm`, because the KDCs issue referrals. If a client of `A.TEST` asks its
/// KDC for `HTTP/web.b.test`, the KDC refers it to `B.TEST`, because a realm's domain is its name in lower case. ``TestRealm/current`` is
/// the first realm.
///
/// - Parameters:
///   - options: The options of each realm; their names must differ.
///   - trusts: The trusts between realms.
///   - paths: The intermediate realms on the way to a realm with which there is no direct trust; nil for the shortest way for each pair of
///     realms.
///   - body: The closure, which runs on the caller's actor. It receives the realms in the order of their options.
/// - Returns: The closure's result.
/// - Throws: The errors of ``withTestRealm(_:_:)``; also the code `invalidArgument` for unknown realms and for steps without a trust.
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
            try realm.center.setPeers(
                others.map { other in
                    let authority = other.files.options.acceptsCertificates ? other.certificateAuthorityPath : nil
                    return try RealmFiles.Peer(
                        realm: other.name,
                        address: other.address,
                        ports: other.center.clientPorts,
                        authorityPath: authority
                    )
                }
            )
        }
        return try await body(realms)
    }
}

/// Starts the last realm first, so that the first one is the innermost and therefore the current one.
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
///   - first: The options of the first realm; its name must differ from the second's.
///   - second: The options of the second realm.
///   - body: The closure, which runs on the caller's actor.
/// - Returns: The closure's result.
/// - Throws: The errors of ``withTestRealm(_:_:)``.
nonisolated(nonsending) public func withTrustedRealms<R>(
    _ first: TestRealmOptions = .init(name: "A.TEST"),
    _ second: TestRealmOptions = .init(name: "B.TEST"),
    _ body: nonisolated(nonsending) (_ first: TestRealm, _ second: TestRealm) async throws -> R
) async throws -> R {
    try await withTestRealms([first, second], trusts: [.twoWay(first.name, second.name)]) { try await body($0[0], $0[1]) }
}

/// A key that two realms share, with which users of one realm get tickets for services of the other.
public struct RealmTrust: Sendable, Hashable {
    /// The directions in which users of one realm reach services of another.
    let directions: [Direction]

    struct Direction: Sendable, Hashable {
        var from: String
        var to: String
    }

    /// Users of the first realm reach services of the second, but not vice versa: the second realm trusts the first.
    public static func oneWay(from users: String, to services: String) -> RealmTrust {
        RealmTrust(directions: [Direction(from: users, to: services)])
    }

    /// Users of each realm reach services of the other.
    public static func twoWay(_ first: String, _ second: String) -> RealmTrust {
        RealmTrust(directions: [Direction(from: first, to: second), Direction(from: second, to: first)])
    }
}

/// The intermediate realms between two realms without a direct trust (`[capaths]` of krb5.conf).
public struct RealmPath: Sendable, Hashable {
    /// The realm of the users.
    public var from: String
    /// The realm of the services.
    public var to: String
    /// The intermediate realms, in order.
    public var through: [String]

    /// Creates a path; each step needs a ``RealmTrust``.
    public init(from: String, to: String, through: [String]) {
        self.from = from
        self.to = to
        self.through = through
    }
}

/// The relations of a realm to others: shared keys, and the referrals and paths of its KDC.
struct RealmLinks: Sendable {
    /// The passwords of the principals that it shares with other realms, such as `krbtgt/B.TEST@A.TEST`.
    var keys: [String: String] = [:]
    /// The realms that its users can reach. The KDC issues referrals to them for services in their domains.
    var reachable: [String] = []
    /// All paths through intermediate realms. They are the same for each realm, because the last KDC checks the first one's choice.
    var paths: [RealmPath] = []

    /// Returns the links of each realm, by its name.
    ///
    /// - Parameter paths: The paths; nil for the shortest one for each pair of realms without a direct trust.
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` for unknown or duplicate names, and for steps without a trust.
    static func make(_ names: [String], trusts: [RealmTrust], paths: [RealmPath]?) throws -> [String: RealmLinks] {
        guard Set(names).count == names.count else {
            throw KerberosTestingError(
                .invalidArgument,
                "Realms that trust each other require distinct names: \(names.joined(separator: ", "))."
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
            let message = "The path from \(path.from) to \(path.to) requires a trust from \(from) to \(to)."
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
    /// The `[capaths]` section; empty if there are no paths.
    var configuration: String {
        guard !isEmpty else { return "" }
        let realms = Dictionary(grouping: self, by: \.from).sorted { $0.key < $1.key }.map { from, paths in
            let lines = paths.flatMap { path in path.through.map { "        \(path.to) = \($0)\n" } }
            return "    \(from) = {\n\(lines.joined())    }\n"
        }
        return "[capaths]\n\(realms.joined())"
    }
}
