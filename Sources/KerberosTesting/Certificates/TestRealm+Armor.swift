import Foundation
public import Kerberos

extension TestRealm {
    /// Makes a cache with a ticket-granting ticket that protects a sign-in (FAST armor, RFC 6113 section 5.4.1), as a machine's own would.
    ///
    /// For a KDC that demands it (``TestRealmOptions/demandsFAST``), and for any other: `kinit -T`, and `RealmConfiguration.armorCache`.
    /// - Returns: The name of the cache, `FILE:` and a path in the realm's folder.
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` if the KDC gives no ticket, `notAdministered` for a realm that
    ///   somebody else runs.
    public func armorCache() async throws -> CredentialCacheName {
        _ = try center
        let cache = CredentialCacheName(rawValue: "FILE:\(directory)/armor-\(UUID().uuidString)")
        // The key is the database's own; the ticket's owner does not matter.
        _ = try await Command.require(
            "kinit",
            ["-k", "-t", "KDB:", "-c", cache.rawValue, "krbtgt/\(name)@\(name)"],
            environment: environment,
            scratch: directory
        )
        return cache
    }
}
