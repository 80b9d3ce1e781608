import Foundation
import Kerberos
import KerberosTesting
import TestSupport
import Testing

/// A user who has signed in: the tickets are in a cache of their own.
struct SignedIn {
    let client: KerberosClient
    let principal: Principal
    let ticket: Credential
    let cache: CredentialCacheName

    func serviceTicket(_ service: Principal, cachedOnly: Bool = false) async throws -> Credential {
        try await client.serviceTicket(for: service, in: cache, cachedOnly: cachedOnly)
    }

    func initiator(for service: Principal) async throws -> InitiatorCredential {
        try await client.initiatorCredential(for: serviceTicket(service))
    }
}

extension TestRealm {
    /// The realm that the suite's trait made.
    static func required() throws -> TestRealm { try #require(current) }

    var client: KerberosClient { KerberosClient(configuration) }

    func principal(_ text: String) throws -> Principal { try Principal(text, defaultRealm: name) }

    /// A path in the realm's folder that nobody else has.
    func newPath(_ suffix: String = "") -> String { "\(directory)/\(UUID().uuidString)\(suffix)" }

    func newCache() -> CredentialCacheName { CredentialCacheName(rawValue: "FILE:\(newPath(".ccache"))") }

    func signIn(
        _ name: String = "alice",
        password: String = "secret",
        client: KerberosClient? = nil,
        cache: CredentialCacheName? = nil,
        options: InitialCredentialOptions = .init()
    ) async throws -> SignedIn {
        let client = client ?? self.client
        let principal = try principal(name)
        let cache = cache ?? newCache()
        let ticket = try await client.initialCredential(for: principal, using: .password(Secret(password)), options: options)
        try await client.replace(cache, principal: principal, credentials: [ticket])
        return SignedIn(client: client, principal: principal, ticket: ticket, cache: cache)
    }

    /// Writes a krb5.conf of the test's own.
    func writeConfiguration(_ text: String) throws -> String {
        let path = newPath(".conf")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }
}

/// Expects a ``KerberosError`` with the code, and hands it on for a closer look.
@discardableResult
func expectFailure(
    _ codes: KerberosError.Code...,
    comment: String = "",
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Void
) async -> KerberosError? {
    let error = await #expect(throws: KerberosError.self, "\(comment)", sourceLocation: sourceLocation) { try await body() }
    if let error {
        #expect(codes.contains(error.code), "\(comment): \(error.code.rawValue): \(error)", sourceLocation: sourceLocation)
        #expect(!error.message.isEmpty, sourceLocation: sourceLocation)
    }
    return error
}

/// Reads a fixture.
func fixture<Value: Decodable>(_ name: String, as type: Value.Type = Value.self) throws -> Value {
    let url = try #require(Bundle.module.url(forResource: name, withExtension: "json", subdirectory: "Fixtures"))
    return try JSONDecoder().decode(Value.self, from: Data(contentsOf: url))
}

/// The bytes that a row of hexadecimal digits stands for; spaces are passed over.
func bytes(hexadecimal text: String) throws -> [UInt8] {
    let digits = text.filter { !$0.isWhitespace }.map(String.init)
    return try stride(from: 0, to: digits.count, by: 2).map { index in
        try #require(UInt8(digits[index] + digits[index + 1], radix: 16))
    }
}
