internal import Kerberos
public import KerberosTesting
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// Runs a closure with a server that judges tokens with this package's own acceptor.
///
/// When the closure returns or throws, the port and all connections are closed. The server remembers no authenticators: libkrb5 reads where its
/// replay cache is from the process's environment, and a token that comes twice is Apache's to refuse.
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
    let credential = try AcceptorCredential(keytab: options.keytab ?? realm.keytabPath, replayCache: .disabled)
    let context = try options.identity.map { try NIOSSLContext(configuration: $0.configuration()) }
    let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton).bind(host: "127.0.0.1", port: 0) { channel in
        channel.eventLoop.makeCompletedFuture { try AcceptorConnection.configure(channel, context: context) }
    }
    let server = AcceptorServer(port: listener.channel.localAddress?.port ?? 0, usesTLS: context != nil)
    let result: Result<R, any Error> = await withTaskGroup(of: Void.self) { group in
        group.addTask { await server.serve(listener, credential: credential, options: options) }
        let outcome: Result<R, any Error>
        do {
            outcome = .success(try await body(server))
        } catch {
            outcome = .failure(error)
        }
        group.cancelAll()
        return outcome
    }
    return try result.get()
}

extension AcceptorServer {
    /// Takes connections until its task is cancelled. A connection that fails ends, and no other with it.
    fileprivate func serve(
        _ listener: NIOAsyncChannel<AcceptorConnection.Channel, Never>,
        credential: AcceptorCredential,
        options: AcceptorServerOptions
    ) async {
        try? await listener.executeThenClose { connections in
            try await withThrowingDiscardingTaskGroup { group in
                var number = 0
                for try await channel in connections {
                    number += 1
                    let judge = TokenJudge(credential: credential, policy: options.channelBindings)
                    let connection = AcceptorConnection(server: self, options: options, number: number, judge: judge)
                    group.addTask { try? await connection.serve(channel) }
                }
            }
        }
    }
}

extension AcceptorConnection {
    /// Puts TLS, where there is a certificate, and HTTP/1.1 into a new connection. Fields may be as long as Apache's in this package.
    fileprivate static func configure(_ channel: any NIOCore.Channel, context: NIOSSLContext?) throws -> Channel {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = 131_072
        let pipeline = channel.pipeline.syncOperations
        if let context { try pipeline.addHandler(NIOSSLServerHandler(context: context)) }
        try pipeline.configureHTTPServerPipeline(withEncoderConfiguration: .init(), withDecoderLimitConfiguration: limits)
        return try Channel(wrappingChannelSynchronously: channel)
    }
}

extension ServerIdentity {
    /// What a server needs to show the certificate, over HTTP/1.1.
    func configuration() throws -> TLSConfiguration {
        let certificates = try NIOSSLCertificate.fromPEMFile(certificatePath).map { NIOSSLCertificateSource.certificate($0) }
        let key = try NIOSSLPrivateKey(file: keyPath, format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(certificateChain: certificates, privateKey: .privateKey(key))
        configuration.applicationProtocols = ["http/1.1"]
        return configuration
    }
}
