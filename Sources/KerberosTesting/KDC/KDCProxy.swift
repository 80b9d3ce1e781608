import Foundation
public import Kerberos
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import SwiftASN1
import Synchronization

/// Runs a closure with an HTTPS proxy for the realm's KDC (MS-KKDCP) at `/KdcProxy`.
///
/// libkrb5 needs its TLS plugin to use the proxy: the Debian package `krb5-k5tls`, or ``TestRealmOptions/pluginDirectory``. Without the
/// plugin the proxy still serves other clients, but libkrb5 reports that it cannot find a KDC. A fault of the realm's network
/// (``TestRealm/network``) also affects requests through the proxy. When the closure returns or throws, the port and all connections close.
///
/// - Parameters:
///   - realm: The realm, which must outlive the proxy.
///   - host: The host name of the proxy, which must resolve to the realm's ``TestRealm/address``; in lower case.
///   - body: The closure, which runs on the caller's actor.
/// - Returns: The closure's result.
/// - Throws: ``KerberosTestingError`` with the code `programMissing` if openssl is missing; otherwise what the closure throws.
nonisolated(nonsending) public func withKDCProxy<R>(
    realm: TestRealm,
    host: String = "localhost",
    _ body: nonisolated(nonsending) (KDCProxy) async throws -> R
) async throws -> R {
    let options = try realm.center.configuration.options
    return try await withKDCProxy(
        realm: realm,
        host: host,
        kdc: (realm.address, realm.ownCenter?.clientPorts.first ?? 0),
        pluginDirectory: options.pluginDirectory,
        body
    )
}

/// Runs a closure with such a proxy in front of a KDC that the kit need not run, such as a domain controller.
///
/// - Parameters:
///   - realm: The realm, in whose folder the proxy's files are. The proxy listens at its ``TestRealm/address``.
///   - host: The host name of the proxy.
///   - kdc: The address and the TCP port of the KDC.
///   - pluginDirectory: As in ``TestRealmOptions``.
nonisolated(nonsending) package func withKDCProxy<R>(
    realm: TestRealm,
    host: String = "localhost",
    kdc: (address: String, port: Int),
    pluginDirectory: String?,
    _ body: nonisolated(nonsending) (KDCProxy) async throws -> R
) async throws -> R {
    try Task.checkCancellation()
    try ListeningAddress.checkName(host, of: realm.address)
    let modules = LibraryModule.tls.modulesIfPresent(in: pluginDirectory) ?? [:]
    let identity = try await realm.makeServerIdentity(host: host)
    let context = try NIOSSLContext(configuration: identity.configuration())
    return try await withHTTPServer(at: realm.address) { pipeline in
        try pipeline.addHandler(NIOSSLServerHandler(context: context))
        try pipeline.configureHTTPServerPipeline()
    } serve: { channel, _ in
        try await KDCProxyConnection(realm: realm.name, address: kdc.address, port: kdc.port).serve(channel)
    } _: { port in
        try await body(try KDCProxy(realm: realm, host: host, port: port, identity: identity, modules: modules))
    }
}

extension KDCProxy {
    fileprivate init(realm: TestRealm, host: String, port: Int, identity: ServerIdentity, modules: [String: String]) throws {
        url = "https://\(host):\(port)/KdcProxy"
        certificatePath = identity.certificatePath
        configurationPath = "\(realm.directory)/proxy-\(port).conf"
        environment = realm.environment.merging(["KRB5_CONFIG": configurationPath]) { $1 }
        var files = realm.files
        files.addPluginModules(modules)
        let text = files.client(ports: [], peers: [])
        let section = """
            [realms]
                \(realm.name) = {
                    kdc = \(url)
                    http_anchors = FILE:\(certificatePath)
                }

            """
        try (text + section).writeFile(configurationPath)
        var configuration = realm.configuration
        configuration.base = .files([configurationPath])
        self.configuration = configuration
    }
}

/// An HTTPS server that forwards requests to a realm's KDC (MS-KKDCP), created by ``withKDCProxy(realm:host:_:)``.
public struct KDCProxy: Sendable {
    /// The value of `kdc` in krb5.conf, such as `https://localhost:40123/KdcProxy`.
    public let url: String
    /// The path of the server's self-signed certificate: the value of `http_anchors`, after `FILE:`.
    public let certificatePath: String
    /// The path of a krb5.conf that uses only the proxy to reach the KDC.
    public let configurationPath: String
    /// The realm's environment with that krb5.conf, for ``TestRealm/run(_:_:environment:input:clockOffset:deadline:)``.
    public let environment: [String: String]
    /// The realm's configuration for `KerberosClient`, based on that krb5.conf.
    public let configuration: RealmConfiguration
}

extension KDCProxy: CustomStringConvertible {
    /// The URL.
    public var description: String { url }
}

/// One connection of a ``KDCProxy``: one request and its reply.
struct KDCProxyConnection {
    private static let limit = 1 << 20

    let realm: String
    /// The KDC's.
    let address: String
    let port: Int

    /// Answers one request; the client closes the connection.
    func serve(_ channel: HTTPConnection) async throws {
        try await channel.executeThenClose { input, output in
            var parts = input.makeAsyncIterator()
            guard case .head(let head)? = try await parts.next() else { return }
            var body: [UInt8] = []
            while case .body(let bytes)? = try await parts.next(), body.count < Self.limit { body += bytes.readableBytesView }
            let (status, reply) = await answer(head, body, for: channel.channel)
            let fields: HTTPHeaders = [
                "Content-Type": "application/kerberos", "Content-Length": "\(reply.count)", "Connection": "close",
            ]
            try await output.write(.head(HTTPResponseHead(version: .http1_1, status: status, headers: fields)))
            try await output.write(.body(.byteBuffer(ByteBuffer(bytes: reply))))
            try await output.write(.end(nil))
        }
    }

    private func answer(_ head: HTTPRequestHead, _ body: [UInt8], for client: any Channel) async -> (HTTPResponseStatus, [UInt8]) {
        guard head.uri == "/KdcProxy" else { return (.notFound, []) }
        guard head.method == .POST else { return (.methodNotAllowed, []) }
        guard let envelope = try? KDCProxyEnvelope(derEncoded: body), envelope.message.count > 4 else { return (.badRequest, []) }
        guard envelope.realm == nil || envelope.realm == realm else { return (.forbidden, []) }
        let request = WireMessage(ByteBuffer(bytes: envelope.message.dropFirst(4)))
        guard let reply = try? await reply(to: request, for: client) else {
            return (.serviceUnavailable, [])
        }
        var serializer = DER.Serializer()
        let message = KDCProxyEnvelope(message: Array(WireMessage(reply).framed().readableBytesView))
        guard (try? serializer.serialize(message)) != nil else { return (.internalServerError, []) }
        return (.ok, serializer.serializedBytes)
    }

    /// Returns the KDC's reply. Stops waiting when the client disconnects or the task is canceled.
    private func reply(to request: WireMessage, for client: any Channel) async throws -> ByteBuffer {
        let connections = OpenChannels()
        client.closeFuture.whenComplete { _ in connections.end() }
        return try await withTaskCancellationHandler {
            try await request.reply(from: address, port: port, on: client.eventLoop, tracked: connections.add).get()
        } onCancel: {
            connections.end()
        }
    }
}
