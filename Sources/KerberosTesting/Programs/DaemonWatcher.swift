import Subprocess
import SystemPackage

/// A shell that holds daemons and a folder, and ends all when this process lets go of its standard input.
///
/// The kernel closes the pipe when this process returns, traps or is killed, so there is no way out that leaves a daemon behind.
/// The pipe is close-on-exec: no other child keeps it open.
actor DaemonWatcher {
    private let orders: StandardInputWriter
    private var lastNumber = 0
    private var replies: [Int: String] = [:]
    private var waiting: [Int: CheckedContinuation<String, any Error>] = [:]
    private var hasEnded = false

    private init(orders: StandardInputWriter) {
        self.orders = orders
    }

    /// Starts a daemon in a process group of its own and returns its process identifier.
    ///
    /// What it writes goes to ``logName(_:)`` in the folder.
    /// - Parameter number: Which of the watcher's daemons it is, by which the other calls know it.
    func start(_ command: [String], number: Int = 0) async throws -> Int {
        let setsid = try Program.path(of: "setsid")
        let reply = try await order("start \(number) " + ([setsid] + command).map(quoted).joined(separator: " "))
        guard let process = Int(reply) else {
            throw KerberosTestingError(.serverNotReady, "The daemon is running already; stop it first.")
        }
        return process
    }

    /// Waits until the shell has made its folder, so that no way out leaves a folder without a shell to remove it.
    private func waitForFolder(_ directory: String) async throws {
        guard try await order("folder") == "0" else {
            throw KerberosTestingError(.serverNotReady, "The folder \(directory) cannot be made; set TMPDIR to one that can be written to.")
        }
    }

    /// The file for what a daemon writes.
    static func logName(_ number: Int) -> String { number == 0 ? "daemon.log" : "daemon-\(number).log" }

    /// Ends the daemon, by TERM or another signal, and waits until it is gone.
    func stop(number: Int = 0, signal: String = "TERM") async throws {
        _ = try await order("stop \(number) \(signal)")
    }

    /// Sends a signal to the daemon's process group, by its name without SIG.
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
            // A cancelled task reads no further: those who wait are told so below.
        }
        hasEnded = true
        for continuation in waiting.values {
            continuation.resume(throwing: Task.isCancelled ? CancellationError() : Self.scopeEnded)
        }
        waiting = [:]
    }

    /// Closes the pipe, on which the shell ends the daemon and removes the folder.
    private func finish() async {
        try? await orders.finish()
    }

    private static var scopeEnded: any Error {
        KerberosTestingError(.scopeEnded, "The realm or server has ended; use it inside the closure that was given it.")
    }
}

extension DaemonWatcher {
    /// Runs a closure with a watcher and a new folder of mode 0700; when it returns the daemons are dead and the folder is gone.
    ///
    /// - Parameter lastSignal: By which a daemon ends: KILL for one without children; TERM for one that must first reap its own.
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

    /// Own session: Ctrl-C in a terminal reaches the test process only, whose end is the shell's order to clean up.
    ///
    /// A cancelled task must not kill the shell, or the daemon would stay: SIGTERM is ignored there, and the next step never comes.
    private static var options: PlatformOptions {
        var options = PlatformOptions()
        options.createSession = true
        options.teardownSequence = [.send(signal: .terminate, allowedDurationToNextStep: .seconds(86_400))]
        return options
    }

    /// Reads `ORDER WORD NUMBER REST`, where NUMBER is the daemon's, and answers `ORDER REPLY`; $1 is the folder, $2 the signal that ends a
    /// daemon for good.
    ///
    /// SIGPIPE is ignored so that a reply to a parent that has just died does not end the shell before it has cleaned up.
    /// The daemon gets the default actions back, so that a signal also ends it before it has set its own.
    /// SIGCONT comes after SIGTERM, so that a stopped daemon dies without running on.
    /// The folder is removed again if a program that the parent ran was still writing into it.
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

/// A word that a shell takes as it is.
private func quoted(_ word: String) -> String {
    "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}
