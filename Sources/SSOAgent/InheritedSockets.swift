package import KCM

/// The descriptors that systemd has bound and hands over (sd_listen_fds(3)).
package struct InheritedSockets: Sendable {
    private let descriptors: [Int32]

    /// What `LISTEN_PID` and `LISTEN_FDS` say; nothing where they are meant for another process.
    package init(environment: [String: String], processID: Int32) {
        guard environment["LISTEN_PID"] == String(processID), let count = environment["LISTEN_FDS"].flatMap(Int32.init), count > 0 else {
            descriptors = []
            return
        }
        descriptors = (0..<min(count, 16)).map { 3 + $0 }
    }

    /// Whether somebody handed anything over.
    package var isEmpty: Bool { descriptors.isEmpty }

    /// Takes them over, each with the path that it is bound to.
    ///
    /// - Throws: `SocketError` for one that is no Unix socket that listens.
    package func take(_ body: (consuming ListeningSocket) throws -> Void) throws {
        for descriptor in descriptors { try body(try ListeningSocket(inherited: descriptor)) }
    }
}
