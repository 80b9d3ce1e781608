internal import NegotiateProxy

/// A running proxy in the document of `ksso proxy status --json`: its process, its routes, and what it does.
struct ProxyDocument: Sendable, Codable {
    var processID: Int32
    /// Whether tickets come from the agent.
    var usesAgent: Bool
    var routes: ProxyRoutes
    var status: ProxyStatus

    private enum CodingKeys: CodingKey {
        case processID, usesAgent, routes
    }

    init(processID: Int32, usesAgent: Bool, routes: ProxyRoutes, status: ProxyStatus) {
        self.processID = processID
        self.usesAgent = usesAgent
        self.routes = routes
        self.status = status
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        processID = try container.decode(Int32.self, forKey: .processID)
        usesAgent = try container.decode(Bool.self, forKey: .usesAgent)
        routes = try container.decode(ProxyRoutes.self, forKey: .routes)
        status = try ProxyStatus(from: decoder)
    }

    /// The keys of the status are next to the others.
    func encode(to encoder: any Encoder) throws {
        try status.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(processID, forKey: .processID)
        try container.encode(usesAgent, forKey: .usesAgent)
        try container.encode(routes, forKey: .routes)
    }
}
