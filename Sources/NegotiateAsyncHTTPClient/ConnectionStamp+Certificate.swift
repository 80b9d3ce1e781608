import NIOCore
import NIOSSL
import TLSChannelBinding

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
