internal import NegotiateProxy

/// A running proxy in the document of `ksso proxy status --json`: its process, its routes, and what it does.
struct ProxyDocument: Sendable, Codable {
    var processID: Int32
    /// Whether tickets come from the agent.
    var usesAgent: Bool
    /// The web server of reverse mode; nil for a forward proxy.
    var destination: String?
    var routes: ProxyRoutes
    var status: ProxyStatus

    private enum CodingKeys: CodingKey {
        case processID, usesAgent, destination, routes
    }

    init(processID: Int32, usesAgent: Bool, destination: String?, routes: ProxyRoutes, status: ProxyStatus) {
        self.processID = processID
        self.usesAgent = usesAgent
        self.destination = destination
        self.routes = routes
        self.status = status
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        processID = try container.decode(Int32.self, forKey: .processID)
        usesAgent = try container.decode(Bool.self, forKey: .usesAgent)
        destination = try container.decodeIfPresent(String.self, forKey: .destination)
        routes = try container.decode(ProxyRoutes.self, forKey: .routes)
        status = try ProxyStatus(from: decoder)
    }

    /// The keys of the status are next to the others.
    func encode(to encoder: any Encoder) throws {
        try status.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(processID, forKey: .processID)
        try container.encode(usesAgent, forKey: .usesAgent)
        try container.encodeIfPresent(destination, forKey: .destination)
        try container.encode(routes, forKey: .routes)
    }
}
