import Testing

/// One cell of the matrix on the documentation page Interoperability, for one KDC: a server and a client.
struct InteroperabilityCell: Sendable, CustomTestStringConvertible {
    /// The server that verifies the tokens.
    enum Server: String, CaseIterable, Sendable {
        case apache = "mod_auth_gssapi"
        case acceptor = "our acceptor"
    }

    /// The client that holds the tickets and creates the tokens.
    enum Client: String, CaseIterable, Sendable {
        case inProcess = "in process"
        case agent
        case curl = "curl by KCM"
        case urlSession = "URLSession"
    }

    let server: Server
    let client: Client

    /// Such as `mod_auth_gssapi / in process`. Scripts/interop parses it.
    var testDescription: String { "\(server.rawValue) / \(client.rawValue)" }

    /// All combinations of a server and a client.
    static let all = Server.allCases.flatMap { server in Client.allCases.map { InteroperabilityCell(server: server, client: $0) } }
}
