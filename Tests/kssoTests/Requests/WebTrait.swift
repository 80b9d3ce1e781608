import KerberosTesting
import Testing

/// Gives a suite a realm, in `TestRealm.current`, and a web server that the realm protects, in `WebTrait.server`.
struct WebTrait: SuiteTrait, TestScoping {
    @TaskLocal static var server: ProtectedWebServer?

    let options: TestRealmOptions

    var isRecursive: Bool { false }

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        try await withTestRealm(options) { realm in
            try await withProtectedWebServer(realm: realm) { server in
                try await Self.$server.withValue(server) { try await function() }
            }
        }
    }
}

extension Trait where Self == WebTrait {
    /// A realm with alice and bob, and a protected page at `/hello`.
    static var protectedWeb: WebTrait {
        WebTrait(options: TestRealmOptions(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/localhost"]))
    }
}
