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
