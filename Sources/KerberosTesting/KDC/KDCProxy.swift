import Foundation
public import Kerberos
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import SwiftASN1
import Synchronization

/// Runs a closure with a proxy for the realm's KDC that speaks HTTPS (MS-KKDCP), on `/KdcProxy`.
///
/// libkrb5 needs its plugin to come this way: the Debian package `krb5-k5tls`, or ``TestRealmOptions/pluginDirectory``. Without it the
/// proxy serves other clients, and libkrb5 says that it can't find a KDC. What the realm's network does (``TestRealm/network``) it does to
/// what comes by the proxy too. When the closure returns or throws, the port and all connections are closed.
///
/// - Parameters:
///   - realm: The realm, which must outlive the proxy.
///   - host: The name by which clients find the proxy: a name of the realm's ``TestRealm/address``, in lower case.
///   - body: The closure, which runs where the caller runs.
/// - Returns: What the closure returns.
/// - Throws: ``KerberosTestingError`` with the code `programMissing` if openssl is missing; otherwise what the closure throws.
nonisolated(nonsending) public func withKDCProxy<R>(
    realm: TestRealm,
    host: String = "localhost",
    _ body: nonisolated(nonsending) (KDCProxy) async throws -> R
) async throws -> R {
    try Task.checkCancellation()
    try ListeningAddress.checkName(host, of: realm.address)
    let modules = LibraryModule.tls.modulesIfPresent(in: try realm.center.configuration.options.pluginDirectory) ?? [:]
    let identity = try await realm.makeServerIdentity(host: host)
    let context = try NIOSSLContext(configuration: identity.configuration())
    return try await withHTTPServer(at: realm.address) { pipeline in
        try pipeline.addHandler(NIOSSLServerHandler(context: context))
        try pipeline.configureHTTPServerPipeline()
    } serve: { channel, _ in
        try await KDCProxyConnection(realm: realm).serve(channel)
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

/// An HTTPS server through which clients reach a realm's KDC (MS-KKDCP). Get one from ``withKDCProxy(realm:host:_:)``.
public struct KDCProxy: Sendable {
    /// What stands as `kdc` in krb5.conf, such as `https://localhost:40123/KdcProxy`.
    public let url: String
    /// The server's certificate, which signs itself: what stands as `http_anchors`, after `FILE:`.
    public let certificatePath: String
    /// A krb5.conf that names no other way to the KDC.
    public let configurationPath: String
    /// The realm's environment with that krb5.conf, for ``TestRealm/run(_:_:environment:input:clockOffset:deadline:)``.
    public let environment: [String: String]
    /// The realm as a value for `KerberosClient`, over that krb5.conf.
    public let configuration: RealmConfiguration
}

extension KDCProxy: CustomStringConvertible {
    /// The address.
    public var description: String { url }
}

/// One connection of a ``KDCProxy``: a request and its answer.
struct KDCProxyConnection {
    private static let limit = 1 << 20

    let realm: TestRealm

    /// Answers one request; the client closes.
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
        guard let envelope = try? KDCProxyMessage(derEncoded: body), envelope.message.count > 4 else { return (.badRequest, []) }
        guard envelope.realm == nil || envelope.realm == realm.name else { return (.forbidden, []) }
        let request = WireMessage(ByteBuffer(bytes: envelope.message.dropFirst(4)))
        let port = realm.ownCenter?.clientPorts.first ?? 0
        guard let reply = try? await reply(to: request, port: port, for: client) else {
            return (.serviceUnavailable, [])
        }
        var serializer = DER.Serializer()
        let message = KDCProxyMessage(message: Array(WireMessage(reply).framed().readableBytesView))
        guard (try? serializer.serialize(message)) != nil else { return (.internalServerError, []) }
        return (.ok, serializer.serializedBytes)
    }

    /// The KDC's reply, for which nobody waits any longer than the client and the server's scope do.
    private func reply(to request: WireMessage, port: Int, for client: any Channel) async throws -> ByteBuffer {
        let connections = OpenChannels()
        client.closeFuture.whenComplete { _ in connections.end() }
        return try await withTaskCancellationHandler {
            try await request.reply(from: realm.address, port: port, on: client.eventLoop, tracked: connections.add).get()
        } onCancel: {
            connections.end()
        }
    }
}

/// `KDC-PROXY-MESSAGE` (MS-KKDCP section 2.2.2), in which a message of Kerberos goes over HTTPS. What else it has is left out.
struct KDCProxyMessage: DERParseable, DERSerializable {
    /// The message with its length in front, as over TCP.
    var message: [UInt8]
    /// The realm whose KDC is meant; a reply has none.
    var realm: String?

    init(message: [UInt8], realm: String? = nil) {
        self.message = message
        self.realm = realm
    }

    init(derEncoded node: ASN1Node) throws {
        self = try DER.sequence(node, identifier: .sequence) { fields in
            let message = try DER.explicitlyTagged(&fields, tagNumber: 0, tagClass: .contextSpecific) {
                try ASN1OctetString(derEncoded: $0)
            }
            let realm = try DER.optionalExplicitlyTagged(&fields, tagNumber: 1, tagClass: .contextSpecific) { node in
                guard node.identifier == .generalString, case .primitive(let bytes) = node.content else {
                    throw ASN1Error.unexpectedFieldType(node.identifier)
                }
                return String(decoding: bytes, as: UTF8.self)
            }
            _ = try DER.optionalExplicitlyTagged(&fields, tagNumber: 2, tagClass: .contextSpecific) { try Int(derEncoded: $0) }
            return KDCProxyMessage(message: Array(message.bytes), realm: realm)
        }
    }

    func serialize(into coder: inout DER.Serializer) throws {
        try coder.appendConstructedNode(identifier: .sequence) { fields in
            let message = ASN1OctetString(contentBytes: ArraySlice(message))
            try fields.serialize(message, explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific)
            guard let realm else { return }
            fields.serialize(explicitlyTaggedWithTagNumber: 1, tagClass: .contextSpecific) { tagged in
                tagged.appendPrimitiveNode(identifier: .generalString) { $0.append(contentsOf: realm.utf8) }
            }
        }
    }
}
