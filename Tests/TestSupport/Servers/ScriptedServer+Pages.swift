internal import Foundation

/// Returns the field value `Negotiate` with a fake token.
package func negotiate(_ token: String) -> String { "Negotiate " + Data(token.utf8).base64EncodedString() }

extension ScriptedServer.Reply {
    /// Returns a page with a token of the server, by default one that verifies.
    package static func page(_ body: String = "hello", token: String? = "final", status: Int = 200) -> Self {
        .response(status, token.map { [("WWW-Authenticate", negotiate($0))] } ?? [], body: body)
    }
}

extension ScriptedServer {
    /// Challenges each request without credentials; otherwise replies with a page.
    package static let protected: Script = { $0.field("Authorization") == nil ? .challenge : .page() }

    /// Returns the URL of a path. libcurl resolves every name under `localhost` to loopback without a lookup.
    package func url(_ host: String = "a.localhost", _ path: String = "/") -> String { "http://\(host):\(port)\(path)" }

    /// The connection of each request, and whether it had an `Authorization` field.
    package var traffic: [Traffic] { requests.map { Traffic(connection: $0.connection, isAuthorized: $0.field("Authorization") != nil) } }

    package struct Traffic: Hashable, Sendable {
        package let connection: Int
        package let isAuthorized: Bool

        package init(connection: Int, isAuthorized: Bool) { (self.connection, self.isAuthorized) = (connection, isAuthorized) }
    }

    /// Waits until these connections are closed; false if the events end before.
    package func hasClosed(_ connections: Set<Int>) async -> Bool {
        var open = connections
        for await event in events {
            if case .closed(let connection) = event { open.remove(connection) }
            if open.isEmpty { return true }
        }
        return false
    }
}

extension ScriptedServer.Request {
    /// The server's port, taken from the `Host` field.
    package var port: String { field("Host")?.split(separator: ":").last.map { String($0) } ?? "" }
}
