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
