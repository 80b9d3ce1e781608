internal import Foundation

/// A message to the process that evaluates a PAC file: one line of JSON.
struct PACRequest: Codable, Hashable {
    /// The script, in the first message of a process.
    var script: String?
    /// The URL and host of a question, in later messages.
    var url: String?
    var host: String?
}

/// The process's reply: one line of JSON.
struct PACReply: Codable, Hashable {
    /// What FindProxyForURL returned.
    var answer: String?
    /// The engine's message. Without it and an answer, the script was loaded.
    var failure: String?
    /// Whether the failure is that the engine is not installed.
    var lacksEngine: Bool?
    /// Whether the failure is that the process could not give up what it must not have.
    var lacksRestrictions: Bool?
    /// What was taken from the process, in the reply to the script.
    var restrictions: [ProcessRestriction]?

    /// The greatest length of a reply in bytes. The process is not trusted once it has run a script.
    static let limit = 1 << 16
}

/// One kind of right that the process that evaluates a PAC file has given up.
enum ProcessRestriction: String, Codable, Hashable, CaseIterable {
    /// Limits on memory, processor time, open files and the size of written files (setrlimit(2)).
    case resources
    /// It can execute no file with more rights (`PR_SET_NO_NEW_PRIVS`).
    case privileges
    /// It can read only the system's libraries and settings, and can write no file (Landlock, from Linux 5.13).
    case files
    /// It can open TCP connections only to port 53, and can listen at no port (Landlock, from Linux 6.7).
    case ports
    /// It can make only the system calls that JavaScript and DNS need (seccomp): among others, it can start no process, connect to no
    /// Unix socket, and access no other process.
    case systemCalls
}

enum PACLine {
    /// A message as a line.
    static func encode(_ message: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return Array((try? encoder.encode(message)) ?? Data()) + [UInt8(ascii: "\n")]
    }

    /// The message of a line; nil if it has another form.
    static func decode<Message: Decodable>(_ line: some Sequence<UInt8>, as type: Message.Type = Message.self) -> Message? {
        try? JSONDecoder().decode(Message.self, from: Data(line))
    }
}
