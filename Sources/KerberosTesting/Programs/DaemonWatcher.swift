import Subprocess
import SystemPackage

/// A shell that runs daemons and owns a folder. It stops the daemons and removes the folder when its standard input is closed.
///
/// The kernel closes the pipe when this process exits, traps or is killed, so that no daemon is ever left behind. The pipe is
/// close-on-exec, so that no other child keeps it open.
actor DaemonWatcher {
    private let orders: StandardInputWriter
    private var lastNumber = 0
    private var replies: [Int: String] = [:]
    private var waiting: [Int: CheckedContinuation<String, any Error>] = [:]
    private var hasEnded = false

    private init(orders: StandardInputWriter) {
        self.orders = orders
    }

    /// Starts a daemon in its own process group and returns its process identifier.
    ///
    /// Its output goes to ``logName(_:)`` in the folder.
    /// - Parameter number: The number that identifies the daemon in the other calls.
    func start(_ command: [String], number: Int = 0) async throws -> Int {
        let setsid = try Program.path(of: "setsid")
        let reply = try await order("start \(number) " + ([setsid] + command).map(quoted).joined(separator: " "))
        guard let process = Int(reply) else {
            throw KerberosTestingError(.serverNotReady, "The daemon is already running; stop it first.")
        }
        return process
    }

    /// Waits until the shell has created its folder, so that no folder exists without a shell that removes it.
    private func waitForFolder(_ directory: String) async throws {
        guard try await order("folder") == "0" else {
            throw KerberosTestingError(.serverNotReady, "The directory \(directory) cannot be created; set TMPDIR to a writable directory.")
        }
    }

    /// Returns the name of the file for a daemon's output.
    static func logName(_ number: Int) -> String { number == 0 ? "daemon.log" : "daemon-\(number).log" }

    /// Stops the daemon with TERM or another signal, and waits until it has exited.
    func stop(number: Int = 0, signal: String = "TERM") async throws {
        _ = try await order("stop \(number) \(signal)")
    }

    /// Sends a signal, by its name without SIG, to the daemon's process group.
    func send(signal: String, number: Int = 0) async throws {
        let status = try await order("signal \(number) \(signal)")
        guard status == "0" else {
            throw KerberosTestingError(.serverNotReady, "The daemon is not running; start it first.")
        }
    }

    private func order(_ words: String) async throws -> String {
        guard !hasEnded else { throw Self.scopeEnded }
        lastNumber += 1
        let number = lastNumber
        _ = try await orders.write("\(number) \(words)\n")
        if let reply = replies.removeValue(forKey: number) { return reply }
        guard !hasEnded else { throw Self.scopeEnded }
        return try await withCheckedThrowingContinuation { waiting[number] = $0 }
    }

    private func listen(to output: SubprocessOutputSequence) async {
        do {
            for try await line in output.strings() {
                let words = line.split(separator: " ", maxSplits: 1)
                guard words.count == 2, let number = Int(words[0]) else { continue }
                let reply = String(words[1])
                if let continuation = waiting.removeValue(forKey: number) {
                    continuation.resume(returning: reply)
                } else {
                    replies[number] = reply
                }
            }
        } catch {
            // A canceled task stops reading; the waiting calls fail below.
        }
        hasEnded = true
        for continuation in waiting.values {
            continuation.resume(throwing: Task.isCancelled ? CancellationError() : Self.scopeEnded)
        }
        waiting = [:]
    }

    /// Closes the pipe, which makes the shell stop the daemons and remove the folder.
    private func finish() async {
        try? await orders.finish()
    }

    private static var scopeEnded: any Error {
        KerberosTestingError(.scopeEnded, "The realm or server has ended; use it only inside the closure that receives it.")
    }
}

extension DaemonWatcher {
    /// Runs a closure with a watcher and a new folder with mode 0700. Before it returns, the daemons have exited and the folder is removed.
    ///
    /// - Parameter lastSignal: The signal that stops the daemons: KILL for one without children, TERM for one that must reap its children.
    nonisolated(nonsending) static func withWatcher<R>(
        making directory: String,
        environment: [String: String],
        lastSignal: String,
        _ body: nonisolated(nonsending) (DaemonWatcher) async throws -> R
    ) async throws -> R {
        var result: Result<R, any Error>?
        let values = environment.map { (Subprocess.Environment.Key(stringLiteral: $0.key), $0.value) }
        _ = try await Subprocess.run(
            .path("/bin/sh"),
            arguments: ["-c", script, "sh", directory, lastSignal],
            environment: .custom(Dictionary(values) { $1 }),
            platformOptions: options,
            input: .inputWriter,
            output: .sequence,
            error: .discarded
        ) { execution in
            let watcher = DaemonWatcher(orders: execution.standardInputWriter)
            let replies = execution.standardOutput
            result = await withTaskGroup(of: Void.self) { group in
                group.addTask { await watcher.listen(to: replies) }
                let outcome: Result<R, any Error>
                do {
                    try await watcher.waitForFolder(directory)
                    outcome = .success(try await body(watcher))
                } catch {
                    outcome = .failure(error)
                }
                await watcher.finish()
                return outcome
            }
        }
        guard let result else { throw CancellationError() }
        return try result.get()
    }

    /// Creates a separate session, so that Ctrl-C in a terminal reaches only the test process, whose exit makes the shell clean up.
    ///
    /// A canceled task must not kill the shell, or the daemons would stay: the shell ignores SIGTERM, and the next step is a day away.
    private static var options: PlatformOptions {
        var options = PlatformOptions()
        options.createSession = true
        options.teardownSequence = [.send(signal: .terminate, allowedDurationToNextStep: .seconds(86_400))]
        return options
    }

    /// Reads `ORDER WORD NUMBER REST`, where NUMBER identifies the daemon, and replies `ORDER REPLY`. $1 is the folder, $2 the signal that
    /// stops the daemons at the end.
    ///
    /// SIGPIPE is ignored so that a reply to a parent that has just exited does not terminate the shell before it has cleaned up. The
    /// daemon gets the default signal actions, so that a signal stops it even before it has installed its own. SIGCONT follows SIGTERM, so
    /// that a suspended daemon exits without continuing. Removing the folder is retried, in case a program that the parent ran is still
    /// writing into it.
    private static let script = """
        trap '' HUP INT QUIT PIPE TERM
        mkdir -m 700 -- "$1"
        made=$?
        numbers=
        end() {
            eval "daemon=\\${daemon$1-}"
            [ -n "$daemon" ] || return 0
            kill -s "$2" -- "-$daemon" || kill -s "$2" "$daemon"
            kill -s CONT -- "-$daemon"
            wait "$daemon"
            eval "daemon$1="
        }
        while read -r order word number rest; do
            eval "daemon=\\${daemon${number:-0}-}"
            case $word in
            folder)
                echo "$order $made" ;;
            start)
                if [ -n "$daemon" ] && kill -s 0 "$daemon"; then echo "$order busy"; continue; fi
                log=daemon-$number.log
                [ "$number" -ne 0 ] || log=daemon.log
                eval "trap - HUP INT QUIT PIPE TERM; exec $rest" </dev/null >>"$1/$log" 2>&1 &
                eval "daemon$number=$!"
                numbers="$numbers $number"
                echo "$order $!" ;;
            signal)
                kill -s "$rest" -- "-$daemon"
                echo "$order $?" ;;
            stop)
                end "$number" "$rest"
                echo "$order 0" ;;
            esac
        done
        for number in $numbers; do end "$number" "$2"; done
        [ "$made" -eq 0 ] || exit 1
        for attempt in 1 2 3 4 5; do
            rm -rf -- "$1" && break
            sleep 0.2
        done
        """
}

/// Quotes a word for the shell.
private func quoted(_ word: String) -> String {
    "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}
