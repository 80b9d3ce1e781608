public import HTTPNegotiate

extension AuthorizationError.Code {
    /// No agent listens on the socket.
    public static let agentNotRunning = AuthorizationError.Code(rawValue: "agentNotRunning")
    /// The agent went away before it had answered, or answers what this version does not understand.
    public static let agentUnavailable = AuthorizationError.Code(rawValue: "agentUnavailable")
    /// The agent does not serve this caller.
    public static let forbidden = AuthorizationError.Code(rawValue: "forbidden")
    /// The exchange has ended: it was completed, it waited too long for the server, or the agent was started anew.
    public static let unknownExchange = AuthorizationError.Code(rawValue: "unknownExchange")
}

extension AuthorizationError {
    init(_ failure: AgentConnection.Failure, path: String) {
        switch failure {
        case .notRunning(let cause):
            self.init(.agentNotRunning, "\(path): no agent listens there. Start it with: ksso agent run", cause: cause)
        case .lost: self.init(.agentUnavailable, "\(path): the agent closed the connection before it answered. Try again.")
        case .broken(let why): self.init(.agentUnavailable, "\(path): the agent's answer can't be used: \(why). Start the agent anew.")
        case .timedOut: self.init(.timedOut, "\(path): the agent did not answer in time.")
        case .canceled: self.init(.canceled, "The request was called off.")
        }
    }
}
