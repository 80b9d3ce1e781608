public import SignOnPolicy

extension AuthorizationError.Code {
    /// No agent listens at the socket.
    public static let agentNotRunning = AuthorizationError.Code(rawValue: "agentNotRunning")
    /// The agent closed the connection before it answered, or its answer is not understood by this version.
    public static let agentUnavailable = AuthorizationError.Code(rawValue: "agentUnavailable")
    /// The agent does not permit this caller to do that.
    public static let forbidden = AuthorizationError.Code(rawValue: "forbidden")
    /// The exchange has ended: it was completed, expired while waiting for the server, or was lost when the agent restarted.
    public static let unknownExchange = AuthorizationError.Code(rawValue: "unknownExchange")
}
