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
    ///
    /// - Parameter expected: The TCP port that the process is to listen on, if it is known and was free. Root without the capability
    ///   CAP_SYS_PTRACE, as in a container, may not see which sockets a process of another account has; then any listener at this port
    ///   counts.
    /// - Throws: ``KerberosTestingError`` with the code `serverNotReady` and the text that `log` returns.
    static func wait(for process: Int, needsUDP: Bool, expected: Int? = nil, log: () -> String) async throws -> ListeningPorts {
        let deadline = ContinuousClock.now.advanced(by: .seconds(60))
        while ContinuousClock.now < deadline {
            guard isAlive(process) else {
                throw KerberosTestingError(.serverNotReady, "The server exited while starting: \(log())")
            }
            let ports = read(process, expected: expected)
            if ports.tcp != nil, ports.udp != nil || !needsUDP { return ports }
            try await Task.sleep(for: .milliseconds(2))
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

    /// Whether a process of this network namespace listens on a TCP port of IPv4.
    static func isListening(on port: Int) -> Bool {
        sockets(in: "/proc/self/net/tcp", state: "0A").contains { $0.port == port }
    }

    private static func read(_ process: Int, expected: Int?) -> ListeningPorts {
        guard let sockets = socketInodes(process) else {
            return ListeningPorts(tcp: expected.flatMap { isListening(on: $0) ? $0 : nil })
        }
        return ListeningPorts(
            tcp: port(in: "/proc/\(process)/net/tcp", sockets: sockets, state: "0A"),
            udp: port(in: "/proc/\(process)/net/udp", sockets: sockets, state: "07")
        )
    }

    /// The sockets of a process; nil if they cannot be read.
    private static func socketInodes(_ process: Int) -> Set<Substring>? {
        let folder = "/proc/\(process)/fd"
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return nil }
        let targets = names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
        // Root may list the descriptors even if it may not see what they are.
        guard !targets.isEmpty || names.isEmpty else { return nil }
        return Set(targets.filter { $0.hasPrefix("socket:[") }.map { $0.dropFirst("socket:[".count).dropLast() })
    }

    /// Returns the port of the first of the given sockets in a table.
    private static func port(in table: String, sockets: Set<Substring>, state: Substring) -> Int? {
        guard !sockets.isEmpty else { return nil }
        return self.sockets(in: table, state: state).first { sockets.contains($0.inode) }?.port
    }

    /// Returns the sockets of a table that have a state; proc_net_tcp describes the columns.
    ///
    /// The kernel lists the listening sockets of TCP first. The connections that follow are not read, because there may be thousands.
    private static func sockets(in table: String, state: Substring) -> [(port: Int, inode: Substring)] {
        var sockets: [(port: Int, inode: Substring)] = []
        String.readLines(ofKernelFile: table) { line in
            let columns = line.split(separator: " ")
            guard columns.count > 9 else { return true }
            // The first line has the names of the columns. UDP has no order.
            guard columns[3] == state else { return columns[3] == "st" || state != "0A" }
            if let digits = columns[1].split(separator: ":").last, let port = Int(digits, radix: 16) { sockets.append((port, columns[9])) }
            return true
        }
        return sockets
    }
}
