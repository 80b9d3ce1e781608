import NIOCore
import NIOSSL
import TLSChannelBinding

/// Keeps an HTTP/2 connection's stamp where its streams find it.
final class ConnectionRecord: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    let stamp: ConnectionStamp

    init(_ stamp: ConnectionStamp) { self.stamp = stamp }
}

extension ConnectionStamp {
    /// A stamp for a connection whose handshake is done. On its event loop only.
    init(_ channel: any Channel) {
        self.init(channelBindings: Self.channelBindings(channel))
    }

    private static func channelBindings(_ channel: any Channel) -> [UInt8]? {
        guard let handler = try? channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self),
            let certificate = try? handler.peerCertificate?.toDERBytes()
        else { return nil }
        return try? TLSServerEndPoint(certificate: certificate).applicationData
    }
}
