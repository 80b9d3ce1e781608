import KerberosTesting

/// Runs a closure while a daemon serves, and stops the daemon in every case, even if this process exits.
///
/// - Parameter isReady: Waits until the daemon serves.
/// - Returns: The closure's result, the daemon's exit status (128 plus the number for a signal), and everything that the daemon wrote.
@discardableResult
func withDaemon<Value>(
    _ command: [String],
    on station: Workstation,
    environment: [String: String] = [:],
    isReady: (Conversation) async throws -> Void,
    _ body: () async throws -> Value
) async throws -> (value: Value, status: Int, output: String) {
    // The shell stops the daemon when it reads a line, or when its standard input closes because the test process has exited.
    let shell = """
        exec 3<&0; "$@" </dev/null 3<&- & daemon=$!
        { read _ <&3; kill $daemon; } & reader=$!
        exec 3<&-; wait $daemon; status=$?
        kill $reader 2>/dev/null; exit $status
        """
    var outcome: Result<Value, any Error>?
    let end = try await Conversation.with(["sh", "-c", shell, "sh"] + command, on: station, environment: environment) { conversation in
        do {
            try await isReady(conversation)
            outcome = .success(try await body())
        } catch {
            outcome = .failure(error)
        }
        // Writing fails if the daemon has already exited.
        try? await conversation.type("\n")
    }
    guard let outcome else { throw CancellationError() }
    return (try outcome.get(), end.status, end.transcript)
}

/// Runs a closure while an agent of the station's user serves.
func withServingAgent<Value>(at station: Workstation, _ body: () async throws -> Value) async throws -> Value {
    let notifications = try NotificationSocket(path: "\(station.directory)/notify")
    return try await withDaemon(
        ["ksso", "agent", "run"],
        on: station,
        environment: ["NOTIFY_SOCKET": notifications.path],
        isReady: { _ in try await notifications.wait(for: "READY=1") },
        body
    ).value
}
