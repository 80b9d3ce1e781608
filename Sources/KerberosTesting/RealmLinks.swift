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
