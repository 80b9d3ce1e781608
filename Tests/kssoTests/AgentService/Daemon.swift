import KerberosTesting

/// Runs a closure while a daemon serves, and ends the daemon on every way out, the end of this process included.
///
/// - Parameter isReady: Waits until it serves.
/// - Returns: What the closure returns, the daemon's exit status (128 and the number for a signal), and everything that it wrote.
@discardableResult
func withDaemon<Value>(
    _ command: [String],
    on station: Workstation,
    environment: [String: String] = [:],
    isReady: (Conversation) async throws -> Void,
    _ body: () async throws -> Value
) async throws -> (value: Value, status: Int, output: String) {
    // The shell ends the daemon when it is told to, or when nobody is there any more who could tell it.
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
        // A daemon that has ended by itself does not read it.
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
