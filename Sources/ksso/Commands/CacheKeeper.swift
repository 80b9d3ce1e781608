internal import ArgumentParser
internal import CommandSupport
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgentClient
internal import SystemSupport

/// Updates the private cache of `ksso exec --file` while the command runs, and then removes it.
///
/// The command itself runs in the process that was `ksso exec`, so that it has the terminal, the signals and the parent of that process.
struct CacheKeeper: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "keep-exec-cache", shouldDisplay: false)

    @Option(help: "The process that uses the cache.")
    var process: Int32
    @OptionGroup var common: CommonOptions

    /// The text that the keeper writes once it watches.
    static let ready = "ready\n"

    func run() async throws {
        let runtime = RuntimeDirectory(environment: ProcessInfo.processInfo.environment)
        guard let process = RunningProcess(processID: process) else { throw CommandFailure(.failed) }
        let cache = PrivateCache(of: process, in: runtime)
        // Only core files are forbidden, because an agent with a list of permitted programs must be able to identify this process.
        ProcessProtection.forbidCoreFiles()
        let sso = try await common.engine.open(bindsTokens: false)
        let name = try? await KerberosClient(RealmConfiguration(realm: "")).defaultCacheName()
        let agent = runtime.isServed ? AgentClient(socketPath: runtime.apiSocket) : nil
        let changes = SessionChanges.stream(agent: agent, cache: name)
        try await ProcessSignals.withSignals { signals in
            try? FileHandle.standardOutput.write(contentsOf: Data(Self.ready.utf8))
            try? FileHandle.standardOutput.close()
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await process.waitForEnd() }
                group.addTask { _ = await signals.next() }
                group.addTask { await Self.keep(cache, from: sso, changes) }
                await group.next()
                group.cancelAll()
            }
            // The keeper task has ended, so that nothing writes the file again.
            cache.remove()
        }
    }

    private static func keep(_ cache: PrivateCache, from sso: SingleSignOn, _ changes: AsyncStream<Void>) async {
        var copied: PrivateCache.Copied?
        for await _ in changes {
            // A cache that cannot be read now may be readable later; until then the command keeps its tickets.
            guard let now = try? await cache.update(from: sso, last: copied) else { continue }
            copied = now
        }
    }
}

extension CacheKeeper {
    /// Starts a keeper for a process, which may execute another program, and returns once the keeper watches.
    static func start(for process: RunningProcess, _ common: CommonOptions) throws(CommandFailure) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw failure }
        defer { close(ends[0]) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let program = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        let profiles = common.profile.flatMap { ["--profile", $0] }
        // The shell exits at once, so that the command does not inherit a child process that it does not know.
        let words =
            ["sh", "-c", "\"$@\" &", "sh", program, configuration.commandName ?? "", "--process", "\(process.processID)"] + profiles
        let environment = ProcessInfo.processInfo.environment
        let child = try? ChildProcess.start(
            "/bin/sh",
            words,
            environment: environment,
            output: .descriptor(ends[1]),
            errors: .null,
            asSessionLeader: true
        )
        close(ends[1])
        guard let child else { throw failure }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        var buffer = [UInt8](repeating: 0, count: 16)
        let count = read(ends[0], &buffer, buffer.count)
        guard count > 0, String(decoding: buffer[..<count], as: UTF8.self) == ready else { throw failure }
    }

    private static var failure: CommandFailure {
        CommandFailure(.failed, "the private cache cannot be synchronized: \(String(cString: strerror(errno))).")
    }
}
