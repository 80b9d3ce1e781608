import AsyncHTTPClient
import Foundation
import KerberosSSO
import KerberosTesting
import NIOCore
import NIOSSL
import NegotiateAsyncHTTPClient
import TestSupport
import Testing

/// Signed-in users, and HTTP clients that use their sessions.
struct SignedInClients {
    let sso: KerberosExtension
    private let certificatePath: String?

    /// Signs users in, each with the password `secret`; they share a cache collection. The profile covers localhost, including plain HTTP.
    ///
    /// - Parameter certificatePath: The certificate that clients trust.
    init(
        _ users: [String] = ["alice"],
        realm: TestRealm,
        trusting certificatePath: String? = nil,
        change: (inout ExtensionConfiguration) throws -> Void = { _ in }
    ) async throws {
        let host = try HostRule("localhost")
        var configuration = ExtensionConfiguration(realm: realm.name, hosts: [host], plainHTTPHosts: [host], source: "test")
        try change(&configuration)
        let folder = realm.newPath()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        sso = KerberosExtension(
            .init(
                configurations: [configuration],
                base: .files([realm.configurationPath]),
                defaultCacheName: "DIR:\(folder)",
                userName: "nobody"
            )
        )
        for user in users { try await sso.signIn(user, using: .password(Secret("secret"))) }
        self.certificatePath = certificatePath
    }

    /// Runs a closure with a client.
    func withClient<Value>(
        isolation: isolated (any Actor)? = #isolation,
        _ change: (inout NegotiatingHTTPClient.Configuration) -> Void = { _ in },
        _ body: (NegotiatingHTTPClient) async throws -> Value
    ) async throws -> Value {
        var configuration = NegotiatingHTTPClient.Configuration()
        if let certificatePath { configuration.connections.tlsConfiguration = try Self.trust(certificatePath) }
        change(&configuration)
        return try await NegotiatingHTTPClient.withClient(extension: sso, configuration: configuration, body)
    }

    /// A TLS configuration that trusts one certificate.
    static func trust(_ certificatePath: String) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(certificatePath))
        return configuration
    }
}

extension HTTPClientResponse {
    /// The whole body as text.
    var text: String { get async throws { String(buffer: try await body.collect(upTo: 1 << 20)) } }
}

extension TestRealm {
    /// Signs alice in with kinit and returns the name of the cache.
    func signedInCache() async throws -> String {
        let cache = "FILE:\(newPath())"
        let result = try await run("kinit", ["-c", cache, "alice"], input: "secret\n")
        try #require(result.exitStatus == 0, "\(result.errors)")
        return cache
    }
}
