import Kerberos
import NIOCore
import NIOHTTP1
import NIOPosix
package import NIOSSL

/// Runs a closure with a server that judges tokens with this package's own acceptor.
///
/// When the closure returns or throws, the port and all connections are closed. The server remembers no authenticators: libkrb5 reads where
/// its replay cache is from the process's environment, and a token that comes twice is Apache's to refuse.
///
/// - Parameters:
///   - realm: The realm whose services' keys accept. Its keytab has to have a key.
///   - options: How the server asks and answers.
///   - body: The closure, which runs where the caller runs.
/// - Returns: What the closure returns.
nonisolated(nonsending) public func withAcceptorServer<R>(
    realm: TestRealm,
    _ options: AcceptorServerOptions = .init(),
    _ body: nonisolated(nonsending) (AcceptorServer) async throws -> R
) async throws -> R {
    try Task.checkCancellation()
    try ListeningAddress.checkName(options.host, of: realm.address)
    let credential = try AcceptorCredential(keytab: options.keytab ?? realm.keytabPath, replayCache: .disabled)
    let context = try options.identity.map { try NIOSSLContext(configuration: $0.configuration()) }
    let records = AcceptorServer.Records(isKept: options.recordsRequests)
    return try await withHTTPServer(at: realm.address) { pipeline in
        if let context { try pipeline.addHandler(NIOSSLServerHandler(context: context)) }
        // Fields may be as long as Apache's in this package.
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = 131_072
        try pipeline.configureHTTPServerPipeline(withEncoderConfiguration: .init(), withDecoderLimitConfiguration: limits)
    } serve: { channel, number in
        let judge = TokenJudge(credential: credential, policy: options.channelBindings)
        try await AcceptorConnection(records: records, options: options, number: number, judge: judge).serve(channel)
    } _: { port in
        try await body(AcceptorServer(host: options.host, port: port, usesTLS: context != nil, records: records))
    }
}

extension ServerIdentity {
    /// What a server needs to show the certificate, over HTTP/1.1.
    package func configuration() throws -> TLSConfiguration {
        let certificates = try NIOSSLCertificate.fromPEMFile(certificatePath).map { NIOSSLCertificateSource.certificate($0) }
        let key = try NIOSSLPrivateKey(file: keyPath, format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(certificateChain: certificates, privateKey: .privateKey(key))
        configuration.applicationProtocols = ["http/1.1"]
        return configuration
    }
}
