internal import ArgumentParser
internal import Foundation
internal import Kerberos
internal import KerberosSSO
internal import SSOAgent
internal import SSOAgentClient

struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show who is signed in, until when, and for which services; no network.",
        discussion: """
            Ends with 5 when nobody is signed in. With --watch it goes on until it is interrupted, or nobody reads what it prints; with --json \
            as well, each change is one document on one line.
            """
    )

    @Flag(help: "Print one JSON document.")
    var json = false
    @Flag(help: "Go on, and say each change.")
    var watch = false
    @Flag(name: [.long, .short], help: "Print nothing; the exit status tells.")
    var quiet = false
    @Option(help: "Count a ticket only if it holds this long yet, such as 10m.", transform: Lifetime.option)
    var validFor: Lifetime?
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if watch, quiet || validFor != nil { throw ValidationError("--watch says each change: it excludes --quiet and --valid-for.") }
    }

    func run() async throws {
        if watch { return try await follow() }
        try await common.run { sso in
            let list = try await sso.sessions()
            for damage in list.damagedCaches { Console.report("warning: \(damage)") }
            if !quiet {
                if json { try Console.printJSON(document(list)) } else { show(list, sso) }
            }
            let limit = Date().addingTimeInterval(Double(validFor?.duration.components.seconds ?? 0))
            guard list.sessions.contains(where: { $0.isSignedIn && $0.holds(at: limit) }) else {
                guard !quiet, !json else { throw CommandFailure(.notSignedIn) }
                let kept = RuntimeDirectory(environment: ProcessInfo.processInfo.environment).keptTickets?.sentence
                throw CommandFailure(.notSignedIn, kept ?? "nobody is signed in. Sign in with: ksso login")
            }
        }
    }

    private func follow() async throws {
        do {
            try await StatusWatch(common: common, json: json).run()
        } catch {
            throw CommandFailure(error, verbose: common.isVerbose)
        }
    }

    private func document(_ list: SessionList) -> StatusDocument {
        let runtime = RuntimeDirectory(environment: ProcessInfo.processInfo.environment)
        var document = StatusDocument(list)
        document.agent = runtime.isServed || runtime.lockHolder != nil
        document.cacheMode = runtime.cacheSocket == nil ? "system" : "agent"
        return document
    }

    private func show(_ list: SessionList, _ sso: SingleSignOn) {
        for session in list.sessions {
            let mark = session.isDefault ? " (default)" : ""
            let verb = session.isSignedIn ? "signed in until" : "expired at"
            Console.print("\(session.principal)\(mark): \(verb) \(Console.text(session.ticketExpires))")
            if let limit = session.renewUntil { Console.print("    renewable until \(Console.text(limit))") }
            Console.print("    in \(session.cache), acquired by \(session.acquiredBy.text)")
            if let notice = session.passwordNotice(sso.kerberos.passwordRules(for: session.realm)) { Console.print("    \(notice)") }
            for service in session.services { Console.print("    \(service.principal) until \(Console.text(service.expires))") }
        }
    }
}

extension Session.Acquisition {
    fileprivate var text: String {
        switch self {
        case .password: "ksso with a password"
        case .keytab(let name): "ksso with the keytab \(name.isEmpty ? "of KRB5_CLIENT_KTNAME" : name)"
        case .certificate(let identity): "ksso with the certificate \(identity.isEmpty ? "that is configured" : identity)"
        case .storedSecret: "ksso with a password that is kept"
        case .other: "another program"
        }
    }
}
