internal import Foundation

/// The process that listens at an agent's socket, as the kernel knows it: a process that is stopped or hangs is known as well.
package struct AgentListener: Sendable, Hashable {
    /// What listens.
    package enum Kind: Sendable, Hashable {
        /// `ksso agent run`.
        case agent
        /// The same, stopped by a signal or a debugger: the kernel takes connections for it, and nobody answers.
        case stoppedAgent
        /// Another program, such as systemd, which listens in an agent's place and hands its sockets over.
        case other(name: String)
    }

    /// Its number; 0 where it is in another name space.
    package let processID: Int32
    /// What it is.
    package let kind: Kind

    /// The process of a number.
    package init(processID: Int32) {
        self.processID = processID
        let words = Self.contents("/proc/\(processID)/cmdline").split(separator: "\0", omittingEmptySubsequences: false)
        // proc_pid_stat(5): the number, the name in parentheses, the state.
        let text = Self.contents("/proc/\(processID)/stat")
        let end = text.lastIndex(of: ")") ?? text.startIndex
        guard zip(words, words.dropFirst()).contains(where: { $0 == "agent" && $1 == "run" }) else {
            kind = .other(name: String(text[..<end].drop { $0 != "(" }.dropFirst()))
            return
        }
        let state = text[end...].dropFirst().first { $0 != " " }
        kind = state == "T" || state == "t" ? .stoppedAgent : .agent
    }

    /// Whether it is the agent itself, whose end is nobody else's.
    package var isAgent: Bool { kind == .agent || kind == .stoppedAgent }

    /// What to say of it where it does not answer: the fault, and what to do.
    package var silence: String {
        switch kind {
        case .stoppedAgent:
            "the agent (process \(processID)) does not answer: it is stopped. Let it go on with: kill -CONT \(processID); or end it with: ksso agent stop"
        case .agent:
            "the agent (process \(processID)) does not answer. End it with: ksso agent stop; then start it again."
        case .other(name: "systemd"):
            "the agent does not answer; systemd (process \(processID)) listens in its place. Start it again with: systemctl \(unit)"
        case .other(let name):
            "the agent does not answer; \(name.isEmpty ? "a program" : name) (process \(processID)) listens in its place. Start that again."
        }
    }

    /// How to stop the agent for good, if systemd listens and would start it again for the next request; nil otherwise.
    package var stopCommand: String? {
        guard kind == .other(name: "systemd") else { return nil }
        return processID == 1
            ? "systemctl stop ksso-agent@NAME.socket ksso-agent@NAME.service" : "systemctl --user stop ksso-agent.socket ksso-agent.service"
    }

    /// How to restart an agent that systemd did not start.
    package static let restartCommand = "ksso agent stop; ksso agent run --background"

    /// How to restart the agent together with its sockets.
    package var restartCommand: String {
        guard kind == .other(name: "systemd") else { return Self.restartCommand }
        return processID == 1
            ? "systemctl restart ksso-agent@NAME.socket ksso-agent@NAME.service"
            : "systemctl --user restart ksso-agent.socket ksso-agent.service"
    }

    /// The machine's systemd has a service's agent, each user's his own.
    private var unit: String { processID == 1 ? "restart ksso-agent@NAME" : "--user restart ksso-agent" }

    private static func contents(_ path: String) -> String {
        guard let file = FileHandle(forReadingAtPath: path), let data = try? file.readToEnd() else { return "" }
        return String(decoding: data, as: UTF8.self)
    }
}
