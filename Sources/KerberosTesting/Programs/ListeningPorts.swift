import Foundation

/// The ports on which a process listens, read from the kernel's tables, so that no port must be chosen in advance.
struct ListeningPorts: Sendable, Hashable {
    /// The TCP port on which it listens, if any.
    var tcp: Int?
    /// The UDP port that it has bound, if any.
    var udp: Int?

    /// Waits until a process listens; from then on the kernel queues what clients send.
    ///
    /// Because the kernel has no event for this, it polls until the process exits or a minute has passed.
    /// - Throws: ``KerberosTestingError`` with the code `serverNotReady` and the text that `log` returns.
    static func wait(for process: Int, needsUDP: Bool, log: () -> String) async throws -> ListeningPorts {
        let deadline = ContinuousClock.now.advanced(by: .seconds(60))
        while ContinuousClock.now < deadline {
            guard isAlive(process) else {
                throw KerberosTestingError(.serverNotReady, "The server exited while starting: \(log())")
            }
            let ports = read(process)
            if ports.tcp != nil, ports.udp != nil || !needsUDP { return ports }
            try await Task.sleep(for: .milliseconds(1))
        }
        throw KerberosTestingError(.serverNotReady, "The server did not listen within a minute: \(log())")
    }

    /// Waits until the kernel reports that the process is stopped (state T of `ps`), or is not.
    static func waitUntil(_ process: Int, isStopped: Bool) async throws {
        let deadline = ContinuousClock.now.advanced(by: .seconds(60))
        while (state(process) == "T") != isStopped {
            guard isAlive(process), ContinuousClock.now < deadline else {
                throw KerberosTestingError(.serverNotReady, "The signal could not be sent to the server.")
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    private static func isAlive(_ process: Int) -> Bool {
        guard let state = state(process) else { return false }
        return state != "Z" && state != "X"
    }

    private static func state(_ process: Int) -> Character? {
        guard let text = String.contents(ofKernelFile: "/proc/\(process)/stat"),
            let end = text.lastIndex(of: ")")
        else { return nil }
        return text[text.index(after: end)...].first { $0 != " " }
    }

    private static func read(_ process: Int) -> ListeningPorts {
        let sockets = socketInodes(process)
        return ListeningPorts(
            tcp: port(in: "/proc/\(process)/net/tcp", sockets: sockets, state: "0A"),
            udp: port(in: "/proc/\(process)/net/udp", sockets: sockets, state: "07")
        )
    }

    private static func socketInodes(_ process: Int) -> Set<Substring> {
        let folder = "/proc/\(process)/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let targets = names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
        return Set(targets.filter { $0.hasPrefix("socket:[") }.map { $0.dropFirst("socket:[".count).dropLast() })
    }

    /// Returns the port of the first line whose socket is among the given ones; proc_net_tcp describes the columns.
    private static func port(in table: String, sockets: Set<Substring>, state: Substring) -> Int? {
        guard !sockets.isEmpty, let text = String.contents(ofKernelFile: table) else { return nil }
        for line in text.split(separator: "\n").dropFirst() {
            let columns = line.split(separator: " ")
            guard columns.count > 9, columns[3] == state, sockets.contains(columns[9]) else { continue }
            return columns[1].split(separator: ":").last.flatMap { Int($0, radix: 16) }
        }
        return nil
    }
}
