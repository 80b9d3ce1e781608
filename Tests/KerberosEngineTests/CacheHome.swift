import Foundation
import HTTPNegotiate
import HTTPTypes
import Kerberos
import KerberosEngine
import KerberosTesting
import TestSupport

/// One user's credential caches, the default one and a directory for more, and a clock, in a directory inside the realm's.
struct CacheHome {
    let realm: TestRealm
    let directory: String
    let clock = ManualClock()
    var options: KerberosExtension.Options

    /// - Parameters:
    ///   - cache: The type of the default cache: `FILE` or `DIR`.
    ///   - configurations: The profiles; one for the realm that answers `.example.test` if nil.
    init(_ realm: TestRealm, cache: String = "FILE", configurations: [ExtensionConfiguration]? = nil) throws {
        self.realm = realm
        directory = "\(realm.directory)/home-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        options = KerberosExtension.Options(
            configurations: try configurations ?? [.init(realm: realm.name, hosts: [HostRule(".example.test")])],
            base: .files([realm.configurationPath]),
            defaultCacheName: "\(cache):\(directory)/\(cache == "DIR" ? "collection" : "cache")",
            additionalCacheDirectory: "\(directory)/caches",
            clock: { [clock] in clock.now }
        )
    }

    /// The default cache's name.
    var defaultCache: CredentialCacheName { CredentialCacheName(rawValue: options.defaultCacheName ?? "") }

    /// Creates an extension in this environment, as another process would.
    func makeExtension() -> KerberosExtension { KerberosExtension(options) }

    /// Runs a krb5 program in this environment.
    func run(_ program: String, _ arguments: [String], input: String? = nil) async throws -> CommandResult {
        try await realm.succeeded(program, arguments, environment: ["KRB5CCNAME": defaultCache.rawValue], input: input)
    }

    /// Signs in with kinit.
    func kinit(_ principal: String, password: String = "secret", _ arguments: [String] = []) async throws {
        _ = try await run("kinit", arguments + [principal], input: "\(password)\n")
    }
}

extension InitialCredentialSource {
    /// The password of the users of these tests.
    static var secret: InitialCredentialSource { .password(Secret("secret")) }
}

extension KerberosExtension {
    /// Answers a challenge of a host.
    func grant(_ host: String, as principal: String? = nil, mayAsk: Bool = false) async throws -> AuthorizationGrant {
        guard let url = URL(string: "https://\(host)/") else { throw AuthorizationError(.invalidURL, host) }
        return try await grant(AuthorizationRequest(url: url, principal: principal, isUserInterfaceEnabled: mayAsk))
    }

    /// Answers a challenge of an origin, with the connection's channel bindings and the caller's mutual authentication.
    func grant(
        origin: String,
        channelBindings: [UInt8]? = nil,
        mutualAuthentication: MutualAuthentication? = nil
    ) async throws -> AuthorizationGrant {
        guard let url = URL(string: "\(origin)/") else { throw AuthorizationError(.invalidURL, origin) }
        return try await grant(
            AuthorizationRequest(url: url, channelBindings: channelBindings, mutualAuthentication: mutualAuthentication)
        )
    }

    private func grant(_ request: AuthorizationRequest) async throws -> AuthorizationGrant {
        guard case .headers(let grant) = try await beginAuthorization(with: request) else {
            throw AuthorizationError(.notHandled, "\(request.url) is not handled.")
        }
        return grant
    }
}

extension AuthorizationGrant {
    /// The token of the `Authorization` field.
    var token: [UInt8] {
        let value = headers[.authorization] ?? ""
        return Data(base64Encoded: String(value.dropFirst("Negotiate ".count))).map { Array($0) } ?? []
    }
}
