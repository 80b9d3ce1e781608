internal import CommandSupport
internal import Foundation
internal import KerberosEngine
internal import SSOAgentClient
internal import SystemSupport

extension KerberosConfigurationFile {
    /// Writes the file to the user's runtime directory, and returns the value for `KRB5_CONFIG`: this file followed by the previous files.
    func install(environment: [String: String]) throws(CommandFailure) -> String {
        let runtime = RuntimeDirectory(environment: environment)
        try runtime.makePrivate()
        // The name depends on the content, so that commands with different profiles use different files.
        let path = "\(runtime.path)/krb5-\(Fingerprint.of(text.utf8)).conf"
        do {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw CommandFailure(.failed, "\(path): the file cannot be written.")
        }
        return Self.searchPath(path, environment: environment)
    }

    /// Returns the value for `KRB5_CONFIG` with a file of this project in front of the system's files.
    static func searchPath(_ file: String, environment: [String: String]) -> String {
        ([file] + RuntimeDirectory.systemConfigurationFiles(environment: environment)).joined(separator: ":")
    }
}

extension RuntimeDirectory {
    /// Creates the folder with access for this user only.
    func makePrivate() throws(CommandFailure) {
        let directory = PrivateDirectory(path: path)
        guard directory.make() else { throw CommandFailure(.failed, directory.fault) }
    }

    /// Whether an agent is running, in any mode; always false in a folder that other users can write to.
    var isServed: Bool { PrivateDirectory(path: path).isTrusted && servesRequests }

    /// Removes the krb5.conf of an agent that was killed, because it would direct every program to a socket at which no process listens. A
    /// running agent listens before it writes that file.
    func removeAbandonedConfiguration() {
        guard PrivateDirectory(path: path).isTrusted, !hasAgent else { return }
        try? FileManager.default.removeItem(atPath: sessionConfiguration)
    }
}
