import NIOCore
import NIOHTTP1
import NIOPosix
import SwiftASN1

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
