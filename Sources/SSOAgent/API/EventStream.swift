internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import SSOAgentClient

extension AgentAPI {
    /// `GET /v1/events`: the events from now on, as server-sent events (HTML Living Standard, section 9.2).
    ///
    /// Comments are sent periodically, so that each side detects when the other is gone. If a client does not read, its oldest events are
    /// dropped first.
    func events(_ request: Request, _ context: AgentContext) async throws -> Response {
        let events = events.events()
        let (parts, continuation) = AsyncStream.makeStream(of: EventStreamPart.self, bufferingPolicy: .bufferingNewest(64))
        context.channel.closeFuture.whenComplete { _ in continuation.finish() }
        let loop = context.channel.eventLoop
        let body = ResponseBody { writer in
            let pump = Task {
                for await event in events { continuation.yield(.event(event)) }
                continuation.finish()
            }
            let beat = loop.scheduleRepeatedTask(initialDelay: .zero, delay: Self.heartbeat) { _ in continuation.yield(.heartbeat) }
            defer {
                beat.cancel()
                pump.cancel()
            }
            for await part in parts { try await writer.write(try Self.bytes(part)) }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: body)
    }

    private static func bytes(_ part: EventStreamPart) throws -> ByteBuffer {
        switch part {
        case .heartbeat: return ByteBuffer(string: ":\n\n")
        case .event(let event):
            var buffer = ByteBuffer(string: "event: \(event.kind.rawValue)\ndata: ")
            buffer.writeBytes(try AgentJSON.encode(event))
            buffer.writeString("\n\n")
            return buffer
        }
    }
}

/// A part of an event stream.
enum EventStreamPart: Sendable {
    case event(AgentEvent)
    /// A comment that shows that the connection is alive.
    case heartbeat
}
