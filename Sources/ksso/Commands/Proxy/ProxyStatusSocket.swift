internal import CommandSupport
internal import Foundation
internal import NegotiateProxy
internal import SSOAgentClient
internal import SystemSupport

/// The Unix socket at which a running proxy sends its status to `ksso proxy status`: `proxy-PID.sock` in the runtime directory, which is
/// private, so that only the user can connect.
struct ProxyStatusSocket: Sendable {
    private static let prefix = "proxy-"
    private static let suffix = ".sock"

    private let socket: UnixAnswerSocket

    /// Listens in the runtime directory; nil if that is not possible, so that the proxy has no status.
    init?(in runtime: RuntimeDirectory) {
        guard let socket = UnixAnswerSocket(path: "\(runtime.path)/\(Self.prefix)\(getpid())\(Self.suffix)") else { return nil }
        self.socket = socket
    }

    /// Serves until the task is canceled, and removes the socket.
    func serve(_ document: @Sendable () async -> ProxyDocument) async {
        await socket.serve { (try? AgentJSON.encode(await document())) ?? Data() }
    }

    /// Reads the status of every running proxy, oldest first.
    static func running(in runtime: RuntimeDirectory) async -> [ProxyDocument] {
        let documents = await BlockingCall.run {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: runtime.path)) ?? []
            return names.filter { $0.hasPrefix(prefix) && $0.hasSuffix(suffix) }.sorted().compactMap { name in
                UnixAnswerSocket.read(path: "\(runtime.path)/\(name)").flatMap { try? AgentJSON.decode(ProxyDocument.self, from: $0) }
            }
        }
        return documents.sorted { $0.status.startedAt < $1.status.startedAt }
    }
}
