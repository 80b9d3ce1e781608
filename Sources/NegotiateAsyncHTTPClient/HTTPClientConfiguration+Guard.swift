import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOHTTP2

extension HTTPClient.Configuration {
    /// Puts a ``ConnectionGuard`` before every connection and every stream.
    mutating func guardConnections(_ pin: ConnectionPin?) {
        http1_1ConnectionDebugInitializer = { channel in
            channel.closingOnFailure { pipeline in
                let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
                try pipeline.addHandler(
                    ConnectionGuard(ConnectionRecord(ConnectionStamp(channel)), isStream: false, pin: pin),
                    position: .after(decoder)
                )
            }
        }
        http2ConnectionDebugInitializer = { channel in
            channel.closingOnFailure { try $0.addHandler(ConnectionRecord(ConnectionStamp(channel))) }
        }
        http2StreamChannelDebugInitializer = { stream in
            stream.closingOnFailure { pipeline in
                guard let connection = stream.parent else { throw ChannelError.inappropriateOperationForState }
                let record = try connection.pipeline.syncOperations.handler(type: ConnectionRecord.self)
                let codec = try pipeline.handler(type: HTTP2FramePayloadToHTTP1ClientCodec.self)
                try pipeline.addHandler(ConnectionGuard(record, isStream: true, pin: pin), position: .after(codec))
                try pipeline.addHandler(SensitiveFields(), position: .before(codec))
                try pipeline.addHandler(HeaderBlockLimit(), position: .before(codec))
            }
        }
    }
}

extension Channel {
    /// Changes the pipeline; where that fails nothing may go out. The future never fails, since the client would lose the connection then.
    fileprivate func closingOnFailure(
        _ change: @escaping @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void
    ) -> EventLoopFuture<Void> {
        eventLoop.submit {
            do { try change(self.pipeline.syncOperations) } catch { self.close(promise: nil) }
        }
    }
}
