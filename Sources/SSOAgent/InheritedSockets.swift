/// The listening descriptors that this process was started with.
struct InheritedSockets: Sendable {
    /// Those that systemd has bound (sd_listen_fds(3)): from 3 on; none where the variables are meant for another process.
    let descriptors: [Int32]
    /// Those of the agent that this process was before it started its program again.
    let own: [Int32]

    /// The variable that names the agent's own: the process, then a descriptor each.
    static let ownVariable = "KSSO_LISTEN_FDS"

    /// What `LISTEN_PID` and `LISTEN_FDS` say, and ``ownVariable``.
    init(environment: [String: String], processID: Int32) {
        let words = (environment[Self.ownVariable] ?? "").split(separator: ":").compactMap { Int32($0) }
        own = words.first == processID ? Array(words.dropFirst().prefix(16)) : []
        guard environment["LISTEN_PID"] == String(processID), let count = environment["LISTEN_FDS"].flatMap(Int32.init), count > 0 else {
            descriptors = []
            return
        }
        descriptors = (0..<min(count, 16)).map { 3 + $0 }
    }
}
