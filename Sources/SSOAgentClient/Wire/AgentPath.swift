/// Where the operations of the agent's API are (`openapi.yaml`).
package enum AgentPath {
    package static let authorize = "/v1/authorize"
    package static let identity = "/v1/identity"
    package static let login = "/v1/login"
    package static let refresh = "/v1/refresh"
    package static let logout = "/v1/logout"
    package static let password = "/v1/password"
    package static let status = "/v1/status"
    package static let explain = "/v1/explain"
    package static let events = "/v1/events"
    package static let configuration = "/v1/configuration"
    package static let stop = "/v1/stop"
    package static let authRequest = "/v1/auth-request"

    /// One exchange.
    package static func authorize(_ exchange: String) -> String { "\(authorize)/\(exchange)" }

    /// The server's refusal of an exchange's token.
    package static func refusal(_ exchange: String) -> String { "\(authorize)/\(exchange)/refusal" }
}
