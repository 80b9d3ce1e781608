internal import KerberosEngine
internal import NIOCore
internal import SSOAgentClient
internal import Synchronization

/// What the API needs from the agent that it belongs to.
protocol AgentAPIDelegate: Sendable {
    /// The agent's own state for `GET /v1/status`; the API adds the connections and exchanges.
    func processStatus() async -> StatusDocument.Process

    /// Performs `POST /v1/stop`; must let that request's own response be sent.
    func stop()

    /// Called after each sign-in, refresh, password change and sign-out.
    func sessionsChanged()

    /// Waits for the agent to sign in by itself to this realm, as this principal if one is given, and returns whether it did.
    func hasSignedIn(realm: String, principal: String?) async -> Bool

    /// Called when a token of a principal has been created.
    func noteUse(of principal: String)

    /// Whether the screen is locked; read only if the profile has a rule for that case.
    var isScreenLocked: Bool { get }

    /// Called with the reason if connections cannot be accepted, such as a lack of descriptors, and with nil when they are accepted again.
    func acceptsConnections(failure reason: String?)
}

/// Answers the requests of the agent's HTTP API (`openapi.yaml`). ``AgentAPIServer`` accepts the connections.
///
/// The same user may do everything; other users may do what the ``AccessPolicy`` permits. Nothing blocks here: the engine has its own
/// threads, and creating a token from a cached service ticket never blocks.
final class AgentAPI: Sendable {
    private let current: CurrentExtension
    let delegate: any AgentAPIDelegate
    let events: EventHub
    let exchanges = ExchangeTable()
    let waiting = WaitingRequests()
    let connections = ConnectionTable()
    /// The number of requests in progress.
    let requests = Atomic(0)

    /// The interval of the heartbeat comments in an event stream.
    static let heartbeat = TimeAmount.seconds(15)

    /// - Parameters:
    ///   - current: Provides the extension and the access policy.
    ///   - delegate: The agent.
    ///   - events: The source of `GET /v1/events`; closed when the API ends.
    init(_ current: CurrentExtension, delegate: any AgentAPIDelegate, events: EventHub) {
        self.current = current
        self.delegate = delegate
        self.events = events
    }

    /// The active extension and access policy; a change of the profiles replaces them.
    var served: CurrentExtension.ServingState { current.current }

    /// Ends the event streams, and cancels the requests that wait for a person, including later ones.
    func cancelWaiting() {
        events.close()
        waiting.cancelAll()
        served.kerberos.cancelPrompts()
    }
}
