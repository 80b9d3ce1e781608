internal import CommandSupport
internal import Foundation
internal import KerberosEngine
internal import SSOAgentClient
internal import UnixSystem

extension KerberosConfigurationFile {
    /// Writes the file to the user's runtime directory, and returns the value for `KRB5_CONFIG`: this file followed by the previous files.
    func install(environment: [String: String]) throws(CommandFailure) -> String {
        let runtime = RuntimeDirectory(environment: environment)
        try runtime.makePrivate()
        // The name depends on the content, so that commands with different profiles use different files.
        let path = "\(runtime.path)/krb5-\(Self.fingerprint(text)).conf"
        do {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw CommandFailure(.failed, "\(path): the file cannot be written.")
        }
        return Self.searchPath(path, environment: environment)
    }

    /// Returns the value for `KRB5_CONFIG` with a file of this project in front of the system's files.
    static func searchPath(_ file: String, environment: [String: String]) -> String {
        ([file] + systemFiles(environment: environment)).joined(separator: ":")
    }

    /// Returns the files of `KRB5_CONFIG`, or else the system's, without those of this project, so that a nested `ksso exec`, or one inside
    /// an agent's session, does not list them twice.
    static func systemFiles(environment: [String: String]) -> [String] {
        guard let list = environment["KRB5_CONFIG"] else { return ["/etc/krb5.conf"] }
        let runtime = RuntimeDirectory(environment: environment).path
        return list.split(separator: ":").map(String.init).filter { !$0.hasPrefix("\(runtime)/krb5") }
    }

    /// FNV-1a with 64 bits: the same in every process. It need not resist attacks, because only the user writes to the folder.
    private static func fingerprint(_ text: String) -> String {
        let hash = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }
}

extension RuntimeDirectory {
    /// Creates the folder with access for this user only.
    func makePrivate() throws(CommandFailure) {
        guard PrivateDirectory(path: path).make() else {
            throw CommandFailure(.failed, "\(path): the folder can't be made, or others can write to it. Set KSSO_RUNTIME_DIR.")
        }
    }

    /// Whether an agent is running, in any mode; always false in a folder that other users can write to.
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

    private var facts: String {
        "is not running, and has tickets in \(path). To use or destroy them, first run: ksso agent run --background"
    }
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

    /// Removes the krb5.conf of an agent that was killed, because it would direct every program to a socket at which no process listens. A
    /// running agent listens before it writes that file.
    func removeAbandonedConfiguration() {
        guard PrivateDirectory(path: path).isTrusted, !hasAgent else { return }
        try? FileManager.default.removeItem(atPath: sessionConfiguration)
    }
}
