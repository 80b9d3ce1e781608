/// Runs a closure with two fresh realms that trust each other.
///
/// Each realm's krb5.conf knows both KDCs but no `domain_realm`: the KDCs refer. A client of `A.TEST` that asks its own KDC for
/// `HTTP/web.b.test` is sent to `B.TEST`, because the domain of a realm is its name in lower case. ``TestRealm/current`` is the first one.
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
    guard first.name != second.name else {
        throw KerberosTestingError(.invalidArgument, "Two realms that trust each other need two names.")
    }
    let password = randomPassword()
    return try await withRealm(second, trusting: [first.name: password]) { other in
        try await withRealm(first, trusting: [second.name: password]) { realm in
            try realm.center.setPeers([RealmFiles.Peer(realm: other.name, port: other.kdcPort)])
            try other.center.setPeers([RealmFiles.Peer(realm: realm.name, port: realm.kdcPort)])
            return try await body(realm, other)
        }
    }
}
