import Foundation
import NIOCore
import NIOPosix
import Synchronization

extension KDCNetwork {
    /// The result of a request.
    enum Outcome: Sendable {
        /// The client receives this message. The connection closes after a message that was truncated.
        case reply(WireMessage)
        /// The client gets no reply; a connection stays open.
        case silence
        /// The client gets no reply; a connection closes.
        case lost
    }

    /// Records a request, applies the active fault, and forwards the request to the KDC unless the fault prevents it.
    func outcome(of request: ByteBuffer, over transport: NetworkTransports) -> EventLoopFuture<Outcome> {
        let (index, fault, ended) = plan.withLock { $0.take(request.kind, size: request.readableBytes, over: transport) }
        for wait in ended { wait.resume() }
        return answer(request, over: transport, fault, number: index).map { outcome in
            guard case .reply(let reply) = outcome else { return outcome }
            self.plan.withLock { $0.replied(reply.bytes.kind, size: reply.bytes.readableBytes, to: index) }
            return outcome
        }
    }

    private func answer(
        _ request: ByteBuffer,
        over transport: NetworkTransports,
        _ fault: NetworkFault,
        number: Int
    ) -> EventLoopFuture<Outcome> {
        switch (fault.kind, fault.direction) {
        case (.drop, .request), (.refuse, _): loop.makeSucceededFuture(.lost)
        case (.blackHole, _): loop.makeSucceededFuture(.silence)
        case (.error(let code), _): error(code)
        case (.referral(let realm), _): error(.wrongRealm, clientRealm: realm)
        case (.replyTooBig, _) where transport == .udp: error(.replyTooBig)
        default:
            suffer(fault, .request, WireMessage(request), number: number)
                .flatMap { self.ask($0, over: transport) }
                .flatMap { self.suffer(fault, .reply, WireMessage($0), number: number) }
                .map { fault == .drop(.reply) ? .lost : .reply($0) }
        }
    }

    private func error(_ code: KDCErrorCode, clientRealm: String? = nil) -> EventLoopFuture<Outcome> {
        let message = KDCErrorMessage(code: code, realm: realm, clientRealm: clientRealm, now: Date())
        return loop.makeCompletedFuture { .reply(WireMessage(try message.bytes())) }
    }

    /// Applies the fault to a message if it is one for this direction.
    private func suffer(
        _ fault: NetworkFault,
        _ direction: NetworkFault.Direction,
        _ message: WireMessage,
        number: Int
    ) -> EventLoopFuture<WireMessage> {
        guard fault.direction == direction else { return loop.makeSucceededFuture(message) }
        var message = message
        switch fault.kind {
        case .delay(let duration):
            return hold(message, for: duration, number: number)
        case .corrupt:
            for index in message.bytes.readableBytesView.indices.suffix((message.length + 1) / 2) {
                if let byte = message.bytes.getInteger(at: index, as: UInt8.self) { message.bytes.setInteger(~byte, at: index) }
            }
        case .unreadableReply:
            let view = message.bytes.readableBytesView
            // [APPLICATION 11]
            if view.first == 0x6B, let last = view.last { message.bytes.setInteger(last ^ 1, at: view.endIndex - 1) }
        case .truncate(let length):
            message.bytes = message.bytes.getSlice(at: message.bytes.readerIndex, length: min(length, message.length)) ?? message.bytes
        default: break
        }
        return loop.makeSucceededFuture(message)
    }

    /// Returns the message after a delay, or an error if the network ends before.
    private func hold(_ message: WireMessage, for duration: Duration, number: Int) -> EventLoopFuture<WireMessage> {
        let held = loop.scheduleTask(in: TimeAmount(duration)) { message }
        pending.withLock { $0.delayed[number] = held }
        held.futureResult.whenComplete { _ in self.pending.withLock { $0.delayed[number] = nil } }
        // Ending cancels the delays that exist then; this one may have been added afterwards.
        if plan.withLock({ $0.hasEnded }) { held.cancel() }
        return held.futureResult
    }

    /// Forwards a request to the KDC over the same transport and waits for the reply as long as the network exists. A datagram waits at
    /// most ``datagramLife``.
    private func ask(_ request: WireMessage, over transport: NetworkTransports) -> EventLoopFuture<ByteBuffer> {
        guard !plan.withLock({ $0.hasEnded }) else { return loop.makeFailedFuture(Self.scopeEnded) }
        let target = target.withLock { $0 }
        guard transport == .udp else { return request.reply(from: address, port: target, on: loop, tracked: channels.add) }
        let place = pending.withLock { pending -> Duration? in
            guard pending.datagrams < Self.datagramLimit else { return nil }
            pending.datagrams += 1
            return pending.datagramLife
        }
        // Datagrams may be lost, and a test must not use more sockets than that.
        guard let place else { return loop.makeFailedFuture(ChannelError.eof) }
        let reply = loop.makePromise(of: ByteBuffer.self)
        let life = loop.scheduleTask(in: TimeAmount(place)) { reply.fail(ChannelError.eof) }
        reply.futureResult.whenComplete { _ in
            life.cancel()
            self.pending.withLock { $0.datagrams -= 1 }
        }
        DatagramBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(DatagramReplyHandler(reply)) }
            }
            .connect(host: address, port: target)
            .flatMap { channel in
                self.channels.add(channel)
                reply.futureResult.whenComplete { _ in channel.close(promise: nil) }
                return channel.writeAndFlush(request.bytes)
            }
            .whenFailure { reply.fail($0) }
        return reply.futureResult
    }

    /// The maximum number of datagrams that wait for the KDC at once.
    private static var datagramLimit: Int { 256 }
}

extension ByteBuffer {
    /// The message's type.
    fileprivate var kind: KDCExchange.Message? {
        getInteger(at: readerIndex, as: UInt8.self).map { KDCExchange.Message(rawValue: $0) }
    }
}

/// A client's TCP connection, which may carry several requests.
final class StreamClientHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let network: KDCNetwork

    init(network: KDCNetwork) { self.network = network }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let channel = context.channel
        network.outcome(of: unwrapInboundIn(data), over: .tcp).whenComplete { result in
            switch result {
            case .success(.reply(let reply)):
                let sent = channel.writeAndFlush(reply.framed())
                if reply.isCut { sent.whenComplete { _ in channel.close(promise: nil) } }
            case .success(.silence): break
            case .success(.lost), .failure: channel.close(promise: nil)
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// The UDP port that receives the datagrams of all clients.
final class DatagramClientHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    private let network: KDCNetwork

    init(network: KDCNetwork) { self.network = network }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        let channel = context.channel
        network.outcome(of: envelope.data, over: .udp).whenSuccess { outcome in
            guard case .reply(let reply) = outcome else { return }
            channel.writeAndFlush(AddressedEnvelope(remoteAddress: envelope.remoteAddress, data: reply.bytes), promise: nil)
        }
    }

    /// A client that has closed its socket causes an error in the next call; the port stays open.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}

/// Receives the first message of a connection to the KDC, then closes the connection.
final class StreamReplyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let reply: EventLoopPromise<ByteBuffer>

    init(_ reply: EventLoopPromise<ByteBuffer>) { self.reply = reply }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reply.succeed(unwrapInboundIn(data))
        context.close(promise: nil)
    }

    /// The KDC closes its sending side if it has no reply.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) { reply.fail(ChannelError.eof) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        reply.fail(error)
        context.close(promise: nil)
    }
}

/// Receives the first datagram from the KDC.
final class DatagramReplyHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    private let reply: EventLoopPromise<ByteBuffer>

    init(_ reply: EventLoopPromise<ByteBuffer>) { self.reply = reply }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reply.succeed(unwrapInboundIn(data).data)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { reply.fail(ChannelError.eof) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        reply.fail(error)
        context.close(promise: nil)
    }
}
