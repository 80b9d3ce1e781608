import AsyncHTTPClient
import BenchmarkSupport
import Foundation
import HTTPNegotiate
import KerberosSSO
import NIOCore
import NIOSSL
import NegotiateAsyncHTTPClient

/// This package's client and the underlying one, in a separate process like their peers, with the realm's environment, so that they find
/// krb5.conf as any program does.
enum OwnChild {
    /// What is measured.
    enum Mode: String {
        /// AsyncHTTPClient alone.
        case anonymous
        /// A token after a challenge.
        case asked
        /// A preemptive token.
        case unasked
    }

    static func row(_ name: String, _ mode: Mode, _ site: Site, page: String, tag: String) -> Row {
        let expected = page == "open" ? "open\n" : site.greeting
        return Row(name: name, tag: tag) { count in
            let url = "\(site.server.url)/\(page)?\(tag)"
            let words = ["own", mode.rawValue, url, expected, "\(count)", site.certificate ?? "", site.realm.name]
            return try Timing(printed: try await site.run(ownPath(), words))
        }
    }

    static func run(_ arguments: ArraySlice<String>) async throws {
        let words = Array(arguments)
        guard words.count == 6, let mode = Mode(rawValue: words[0]), let count = Int(words[3]) else {
            throw Unavailable(reason: "own: wrong arguments")
        }
        let connections = try connections(trusting: words[4])
        let request = HTTPClientRequest(url: words[1])
        if mode == .anonymous {
            let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: connections)
            try await time(count, expecting: words[2]) { try await client.execute(request, timeout: .seconds(30)) }
            return try await client.shutdown()
        }
        var configuration = NegotiatingHTTPClient.Configuration()
        configuration.connections = connections
        let sso = try await singleSignOn(realm: words[5], isPreemptive: mode == .unasked)
        try await NegotiatingHTTPClient.withClient(extension: sso, configuration: configuration) { client in
            try await time(count, expecting: words[2]) { try await client.execute(request) }
        }
    }

    /// With the process's own krb5.conf and credential cache.
    static func singleSignOn(realm: String, isPreemptive: Bool) async throws -> SingleSignOn {
        let text = """
            ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension
            Type: Credential
            Realm: \(realm)
            Hosts: [localhost]
            PlainHTTPHosts: [localhost]
            \(isPreemptive ? "PreemptiveHosts: [localhost]" : "")

            """
        let profile = try Profile(data: Data(text.utf8), source: "benchmark")
        return try await SingleSignOn(.inProcess(profile), environment: ProcessInfo.processInfo.environment)
    }

    private static func connections(trusting certificate: String) throws -> HTTPClient.Configuration {
        var connections = HTTPClient.Configuration()
        if !certificate.isEmpty {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(certificate))
            connections.tlsConfiguration = tls
        }
        return connections
    }

    /// Prints the timing of the requests; the first one, which needs a connection and a ticket, is not measured.
    private static func time(_ count: Int, expecting expected: String, _ send: () async throws -> HTTPClientResponse) async throws {
        func fetch() async throws {
            let response = try await send()
            let text = String(buffer: try await response.body.collect(upTo: 4096))
            guard response.status == .ok, text == expected else {
                throw Unavailable(reason: "the server answered \(response.status.code): \(text.prefix(80))")
            }
        }
        try await fetch()
        let timing = try await Timing.of(.this) {
            for _ in 0..<count { try await fetch() }
        }
        print(timing.seconds, timing.processorSeconds)
    }
}
