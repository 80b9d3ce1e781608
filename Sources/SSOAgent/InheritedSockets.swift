/// The descriptors that systemd has bound and hands over (sd_listen_fds(3)).
struct InheritedSockets: Sendable {
    /// From 3 on; none where the variables are meant for another process.
    let descriptors: [Int32]

    /// What `LISTEN_PID` and `LISTEN_FDS` say.
    init(environment: [String: String], processID: Int32) {
        guard environment["LISTEN_PID"] == String(processID), let count = environment["LISTEN_FDS"].flatMap(Int32.init), count > 0 else {
            descriptors = []
            return
        }
        descriptors = (0..<min(count, 16)).map { 3 + $0 }
    }
}
