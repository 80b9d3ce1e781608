import Testing

/// One cell of the matrix in the documentation's page on interoperability, for a KDC: a server and a client.
struct InteroperabilityCell: Sendable, CustomTestStringConvertible {
    /// What judges the tokens.
    enum Server: String, CaseIterable, Sendable {
        case apache = "mod_auth_gssapi"
        case acceptor = "our acceptor"
    }

    /// What holds the tickets and makes the tokens.
    enum Client: String, CaseIterable, Sendable {
        case inProcess = "in process"
        case agent
        case curl = "curl by KCM"
        case urlSession = "URLSession"
    }

    let server: Server
    let client: Client

    /// Such as `mod_auth_gssapi / in process`, as Scripts/interop reads it.
    var testDescription: String { "\(server.rawValue) / \(client.rawValue)" }

    /// Every server with every client.
    static let all = Server.allCases.flatMap { server in Client.allCases.map { InteroperabilityCell(server: server, client: $0) } }
}
