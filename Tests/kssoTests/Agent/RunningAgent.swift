import Foundation
import KerberosTesting
import TestSupport
import Testing

extension Workstation {
    /// The runtime folder.
    var runtime: String { "\(directory)/run" }

    /// Runs an agent during a closure, as a service manager does, then stops it with SIGTERM.
    ///
    /// - Parameter wrapper: A command that replaces itself by the agent.
    /// - Returns: The exit status and the output of the agent.
    @discardableResult
    func withAgent(
        _ arguments: [String] = [],
        wrapper: [String] = [],
        environment: [String: String] = [:],
        sourceLocation: SourceLocation = #_sourceLocation,
        _ body: (Conversation) async throws -> Void
    ) async throws -> (status: Int, transcript: String) {
        let command = wrapper + ["ksso", "agent", "run"] + arguments
        let end = try await Conversation.with(command, on: self, environment: environment) { agent in
            do {
                try await eventually({ UnixSocket.isServed("\(runtime)/agent.sock") }, sourceLocation: sourceLocation)
                #expect(FileManager.default.fileExists(atPath: "\(runtime)/krb5.conf"), "the file exists as soon as the socket does")
                try await body(agent)
                kill(agent.process, SIGTERM)
            } catch {
                kill(agent.process, SIGKILL)
                throw error
            }
        }
        return end
    }

    /// Starts an agent and kills it, so that it leaves its files behind.
    func leaveAKilledAgent() async throws {
        _ = try await Conversation.with(["ksso", "agent", "run"], on: self) { agent in
            defer { kill(agent.process, SIGKILL) }
            try await eventually { UnixSocket.isServed("\(runtime)/agent.sock") }
        }
    }

    /// The agent's own state, as `ksso agent status --json` prints it.
    func agentStatus() async throws -> AgentStatusDocument {
        try AgentStatusDocument(json: await ksso("agent", "status", "--json").output)
    }

    /// Starts an agent in the background, and kills it after the closure.
    func withBackgroundAgent(_ arguments: String..., body: (CommandResult) async throws -> Void) async throws {
        let result = try await run(["ksso", "agent", "run", "--background"] + arguments)
        let process = try? await agentStatus().process.processID
        defer { if let process { kill(process, SIGKILL) } }
        try await body(result)
    }
}

/// The output of `ksso agent status --json`, decoded as a user's program would decode it.
struct AgentStatusDocument: Decodable {
    struct Process: Decodable {
        let processID: Int32
        let started: Date
        let connections: Int
        let exchanges: Int
        let caches: Int?
        let tickets: Int?
        let cacheConnections: Int?
    }

    let agent: Bool
    let cacheMode: String
    let process: Process

    init(json: String) throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        self = try decoder.decode(Self.self, from: Data(json.utf8))
    }
}

/// Unix sockets of the agent, or in its place.
enum UnixSocket {
    /// Whether a process listens on the socket.
    static func isServed(_ path: String) -> Bool {
        guard let descriptor = open(path, connect) else { return false }
        close(descriptor)
        return true
    }

    /// Creates the file of a socket on which no process listens.
    static func leave(at path: String) throws {
        close(try #require(open(path, bind)))
    }

    /// Listens on the socket and accepts no connection. The caller closes the descriptor.
    ///
    /// It replaces another socket in one step, because an agent that watches the path binds it again as soon as it is gone.
    static func occupy(_ path: String) throws -> Int32 {
        let descriptor = try #require(open("\(path).new", bind))
        try #require(listen(descriptor, 8) == 0)
        try #require(rename("\(path).new", path) == 0)
        return descriptor
    }

    /// Replaces a socket by a folder that is not empty, even if its owner binds it again meanwhile.
    static func obstruct(_ path: String) throws {
        repeat { unlink(path) } while mkdir(path, 0o700) != 0 && errno == EEXIST
        try FileManager.default.createDirectory(atPath: "\(path)/folder", withIntermediateDirectories: true)
    }

    /// Opens a connection, which the caller closes. Fails instead of waiting if the process accepts none.
    static func connection(to path: String) throws -> Int32 { try #require(open(path, isWaiting: false, connect)) }

    private static func open(_ path: String, isWaiting: Bool = true, _ call: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32)
        -> Int32?
    {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | (isWaiting ? 0 : O_NONBLOCK), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let result = withUnsafeBytes(of: &address) {
            call(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
        }
        guard result == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }
}
