internal import Foundation
internal import KerberosEngine
internal import SSOAgentClient
internal import UnixSystem

extension KerberosConfigurationFile {
    /// Puts the file into the user's runtime folder and returns what `KRB5_CONFIG` must be: the file, and behind it what stood there
    /// before.
    func install(environment: [String: String]) throws(CommandFailure) -> String {
        let runtime = RuntimeDirectory(environment: environment)
        try runtime.makePrivate()
        // A name for its content: a command that runs under other profiles keeps its own.
        let path = "\(runtime.path)/krb5-\(Self.fingerprint(text)).conf"
        do {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw CommandFailure(.failed, "\(path): the file can't be written.")
        }
        return Self.searchPath(path, environment: environment)
    }

    /// `KRB5_CONFIG` with a file of ours in front of what stands there.
    static func searchPath(_ file: String, environment: [String: String]) -> String {
        ([file] + systemFiles(environment: environment)).joined(separator: ":")
    }

    /// The files of `KRB5_CONFIG`, else the machine's: `ksso exec` inside `ksso exec`, or inside a session of the agent's, must not name
    /// our files twice.
    static func systemFiles(environment: [String: String]) -> [String] {
        guard let list = environment["KRB5_CONFIG"] else { return ["/etc/krb5.conf"] }
        let runtime = RuntimeDirectory(environment: environment).path
        return list.split(separator: ":").map(String.init).filter { !$0.hasPrefix("\(runtime)/krb5") }
    }

    /// FNV-1a of 64 bits: the same in every process, and nothing that must hold against an attacker, since only the user writes there.
    private static func fingerprint(_ text: String) -> String {
        let hash = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }
}

extension RuntimeDirectory {
    /// Makes the folder, for this user alone.
    func makePrivate() throws(CommandFailure) {
        guard PrivateDirectory(path: path).make() else {
            throw CommandFailure(.failed, "\(path): the folder can't be made, or others can write to it. Set KSSO_RUNTIME_DIR.")
        }
    }

    /// Whether an agent runs, wherever its tickets are; never in a folder that others can write to.
    var isServed: Bool { PrivateDirectory(path: path).isTrusted && servesRequests }
}

/// Tickets on disk of an agent that does not run: programs do not find them until it runs again.
struct KeptTickets {
    /// The folder.
    let path: String

    /// For the end of a command that fails for that reason.
    var sentence: String { "the agent \(facts)" }

    /// A line of its own.
    var note: String { "The agent \(facts)" }

    private var facts: String { "does not run, and keeps tickets in \(path). To use or end them: ksso agent run --background" }
}

extension RuntimeDirectory {
    /// The tickets that an agent which does not run keeps here; nil if there are none.
    var keptTickets: KeptTickets? {
        guard !hasAgent else { return nil }
        let folder = "\(path)/tickets/\(geteuid())"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        guard names.contains(where: { $0.hasSuffix(".ccache") }) else { return nil }
        return KeptTickets(path: "\(path)/tickets")
    }

    /// Removes the krb5.conf of an agent that was killed: it would send every program to a socket where nobody listens. An agent that lives
    /// listens before it writes that file.
    func removeAbandonedConfiguration() {
        guard PrivateDirectory(path: path).isTrusted, !hasAgent else { return }
        try? FileManager.default.removeItem(atPath: sessionConfiguration)
    }
}
