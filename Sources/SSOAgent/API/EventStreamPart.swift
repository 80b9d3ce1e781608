internal import SSOAgentClient

/// What goes over a stream of events.
enum EventStreamPart: Sendable {
    case event(AgentEvent)
    /// Nothing happened; the connection is alive.
    case heartbeat
}
