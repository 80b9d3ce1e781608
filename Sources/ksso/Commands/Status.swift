internal import ArgumentParser
internal import CommandSupport
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgent
internal import SSOAgentClient
internal import SignOnPolicy
internal import SystemSupport

struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Print who is signed in, until when, and for which services, without using the network.",
        discussion: """
            Exits with status 5 if no one is signed in. With --watch it continues until it is interrupted, or until the reader of its \
            output closes the pipe; with --watch --json each change is one JSON document on one line.

            EXAMPLES:
              ksso status
              ksso status --quiet --valid-for 10m
            """
    )

    @Flag(help: "Print one JSON document.")
    var json = false
    @Flag(help: "Keep running, and print each change.")
    var watch = false
    @Flag(name: [.long, .short], help: "Print nothing; use the exit status.")
    var quiet = false
    @Option(help: "Require a ticket that stays valid for at least this long, such as 10m.", transform: Lifetime.option)
    var validFor: Lifetime?
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if watch, quiet || validFor != nil { throw ValidationError("--watch cannot be combined with --quiet or --valid-for.") }
    }

    func run() async throws {
        if watch { return try await follow() }
        try await common.engine.run { sso in
            let list = try await sso.sessions()
            for damage in list.damagedCaches { Console.report("warning: \(damage)") }
            if !quiet {
                if json { try Console.printJSON(await document(list, sso)) } else { await show(list, sso) }
            }
            let limit = Date().addingTimeInterval(validFor?.seconds ?? 0)
            guard list.sessions.contains(where: { $0.isSignedIn && $0.isValid(at: limit) }) else {
                guard !quiet, !json else { throw CommandFailure(.notSignedIn) }
                let kept = RuntimeDirectory(environment: ProcessInfo.processInfo.environment).keptTickets?.sentence
                throw CommandFailure(.notSignedIn, kept ?? absence(in: list))
            }
        }
    }

    /// What is missing, with the command that signs in the principal in question.
    private func absence(in list: SessionList) -> String {
        if let validFor, let session = list.sessions.filter(\.isSignedIn).max(by: { $0.ticketExpires < $1.ticketExpires }) {
            return "\(session.principal): the ticket is valid for less than \(validFor.argument). "
                + "Sign in again with: ksso login --valid-for \(validFor.argument) \(session.principal)"
        }
        guard let session = list.sessions.first else { return KerberosError.notSignedIn(toRealm: nil).message }
        return KerberosError.expired(session.principal).description
    }

    private func follow() async throws {
        do {
            try await StatusWatch(common: common, json: json).run()
        } catch {
            throw CommandFailure(error, verbose: common.isVerbose)
        }
    }

    private func document(_ list: SessionList, _ sso: SingleSignOn) async -> StatusDocument {
        let runtime = RuntimeDirectory(environment: ProcessInfo.processInfo.environment)
        var document = await StatusDocument(list, of: sso.inspection)
        document.agent = runtime.isServed || runtime.lockHolder != nil
        document.cacheMode = runtime.cacheSocket == nil ? "system" : "agent"
        return document
    }

    private func show(_ list: SessionList, _ sso: SingleSignOn) async {
        for session in list.sessions {
            let mark = session.isDefault ? " (default)" : ""
            let verb = session.isSignedIn ? "signed in until" : "expired at"
            let line = "\(session.principal)\(mark): \(verb) \(session.ticketExpires.localTextWithTimeLeft)"
            Console.print(line, highlighting: verb, in: session.isSignedIn ? nil : .red)
            if let limit = session.renewUntil { Console.print("    renewable until \(limit.localTextWithTimeLeft)") }
            Console.print("    in \(session.cache), acquired by \(session.acquiredBy.text)")
            if let site = await sso.inspection.knownSite(of: session.realm) { Console.print("    in the site \(site)") }
            let rules = sso.passwordRules(for: session.realm)
            if let account = session.account { show(account) }
            if let notice = session.passwordNotice(rules) ?? passwordLine(session, rules) { Console.print("    \(notice)") }
            for service in session.services { Console.print("    \(service.principal) until \(service.expires.localTextWithTimeLeft)") }
        }
    }
}

extension Status {
    /// Prints what the directory said about an account, as far as a user needs it.
    private func show(_ account: AccountStatus) {
        if let problem = account.problem {
            let source = "according to the directory (read \(account.read.localText)). Ask an administrator of the domain."
            let line = "the account is \(problem.rawValue), \(source)"
            Console.print("    \(line)", highlighting: problem.rawValue, in: .red)
        }
        if let home = account.homeDirectory { Console.print("    home directory \(home.escapedForDisplay())") }
    }

    /// When the password expires, if the directory says it and no notice is due.
    private func passwordLine(_ session: Session, _ rules: PasswordRules) -> String? {
        guard session.account != nil, let expires = session.passwordExpires else { return nil }
        guard expires <= Date() else { return "the password expires on \(expires.localTextWithTimeLeft)" }
        return "the password must be changed.\(session.passwordAdvice(rules).map { " \($0)" } ?? "")"
    }
}

/// `ksso status --watch`: prints a line, or a JSON document, for each change of the sessions until its output is closed.
///
/// It uses the agent while one is running, and otherwise reads the caches itself; the agent may start and stop meanwhile.
struct StatusWatch {
    let common: CommonOptions
    let json: Bool

    /// Runs until a signal arrives or the reader of the output closes it.
    func run() async throws {
        ReaderWatch.endProcessWithReader()
        let runtime = RuntimeDirectory(environment: ProcessInfo.processInfo.environment)
        var shown: StatusDocument?
        var sso: SingleSignOn?
        var losses = 0
        while true {
            if let listener = await RunningAgent(runtime).silent() { throw CommandFailure(.failed, listener.silence) }
            let agent = runtime.isServed ? AgentClient(socketPath: runtime.apiSocket) : nil
            if agent == nil, sso == nil { sso = try await common.engine.open() }
            for await _ in await changes(agent) {
                guard (agent != nil) == runtime.isServed, let document = try await document(agent, sso, &losses) else { break }
                if document != shown { try show(document) }
                shown = document
            }
            // The agent has started or stopped. When it stops, its connections may close shortly before its sockets.
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    private func changes(_ agent: AgentClient?) async -> AsyncStream<Void> {
        if let agent { return SessionChanges.stream(agent: agent) }
        let client = KerberosClient(RealmConfiguration(realm: ""))
        return SessionChanges.stream(cache: try? await client.defaultCacheName())
    }

    /// Returns nil if the agent has stopped or is stopping. Throws if it is unavailable several times in a row without having stopped.
    private func document(_ agent: AgentClient?, _ sso: SingleSignOn?, _ losses: inout Int) async throws -> StatusDocument? {
        guard let agent else {
            guard let sso else { return nil }
            return await StatusDocument(try sso.sessions(), of: sso.inspection)
        }
        do throws(AuthorizationError) {
            var document = try await agent.status()
            document.process = nil  // its counts change with each request
            losses = 0
            return document
        } catch {
            losses += 1
            guard error.code == .agentNotRunning || error.code == .agentUnavailable && losses < 5 else { throw error }
            return nil
        }
    }

    private func show(_ document: StatusDocument) throws {
        if json { return try Console.printJSONLine(document) }
        let now = Date().localText
        if document.sessions.isEmpty { Console.print("\(now)  not signed in") }
        for session in document.sessions {
            let mark = session.isDefault ? " (default)" : ""
            let verb = session.signedIn ? "signed in until" : "expired at"
            let services = session.services.isEmpty ? "" : ", \(quantity(session.services.count, "service ticket"))"
            Console.print("\(now)  \(session.principal)\(mark): \(verb) \(session.ticketExpires.localTextWithTimeLeft)\(services)")
        }
    }
}

/// Reports when the sessions may have changed.
enum SessionChanges {
    /// Yields at once, and then at an agent's events, when a cache file changes, and every few seconds, because some changes cause no
    /// event: a ticket expires, a service ticket is added, or a cache that is not a file changes.
    static func stream(agent: AgentClient? = nil, cache: CredentialCacheName? = nil) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let changes = cache?.path.flatMap { path in FileWatch { [path] }?.changes }
        let task = Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await tick(every: agent == nil && changes == nil ? .seconds(2) : .seconds(5), continuation) }
                if let agent {
                    group.addTask {
                        // The event stream ends with the agent, which must be reported at once.
                        _ = try? await agent.events().reduce(into: ()) { _, _ in continuation.yield() }
                        continuation.yield()
                    }
                }
                if let changes {
                    group.addTask {
                        for await _ in changes {
                            // A program that fills a cache writes it several times. The delay prevents reporting the empty cache as a
                            // sign-out.
                            try? await Task.sleep(for: .milliseconds(50))
                            continuation.yield()
                        }
                    }
                }
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    private static func tick(every interval: Duration, _ continuation: AsyncStream<Void>.Continuation) async {
        while !Task.isCancelled {
            continuation.yield()
            try? await Task.sleep(for: interval)
        }
    }
}

/// Detects that the reader of standard output has closed it, even before there is something to write.
enum ReaderWatch {
    /// Exits the process in this case, as a broken pipe would. Never happens if the output is a file.
    static func endProcessWithReader() {
        Thread.detachNewThread {
            var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
            while poll(&output, 1, -1) < 0, errno == EINTR {}
            _exit(ExitStatus.brokenPipe.rawValue)
        }
    }
}
