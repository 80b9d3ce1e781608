import Foundation
import Kerberos
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
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
