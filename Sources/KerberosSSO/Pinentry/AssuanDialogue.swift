internal import Foundation
internal import Kerberos

/// A dialogue with a program in the Assuan protocol: the client sends a line, and the program answers `OK` or `ERR`, with data in `D`
/// lines.
///
/// Blocks, so call it only on a thread that may block. Nothing secret is sent, and what is received is overwritten in memory afterwards.
struct AssuanDialogue: ~Copyable {
    let child: ChildProgram
    private var deadline = ContinuousClock.now + AssuanDialogue.patience
    private var buffer: [UInt8] = []
    /// The program's fault; nil if it had none, and if the dialogue was given up.
    private(set) var fault: Fault?

    /// The maximum length of a line in the protocol, and of an answer.
    private static let lineLimit = 1000
    private static let answerLimit = 4096
    /// How long the program may take for a request that no person has to answer.
    private static let patience = Duration.seconds(60)
    /// How long the program may take to exit, first by itself and then after a signal.
    private static let grace = Duration.seconds(1)

    /// The result of a request.
    enum Reply: Equatable {
        case done
        /// The error code of libgpg-error, without its source.
        case failed(code: UInt32)
    }

    /// A fault of a program.
    enum Fault: Equatable {
        /// It exited before the prompt.
        case endedAtOnce
        /// It exited during the prompt.
        case ended
        /// It refused to prompt, with this error code of libgpg-error.
        case refused(code: UInt32)
        /// It sent nothing.
        case silent
    }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: The program's path.
    ///   - environment: The program's complete environment.
    init(_ program: String, environment: [String: String]) throws(PromptRefusal) {
        guard let child = ChildProgram(program, environment: environment, showsErrors: true) else { throw .notInteractive }
        self.child = child
        buffer.reserveCapacity(Self.answerLimit)
    }

    /// Waits until the program is ready.
    mutating func begin() throws(PromptRefusal) {
        switch try? reply() {
        case .done: return
        case .failed(let code): fault = .refused(code: code)
        case nil: fault = fault == nil ? .silent : .endedAtOnce
        }
        throw .notInteractive
    }

    /// Sends a request with the text escaped, and returns the reply.
    mutating func request(_ command: String, _ text: String = "") throws(PromptRefusal) -> Reply {
        deadline = .now + Self.patience
        try send(command, text)
        return try reply()
    }

    /// Prompts the person, with a time limit.
    mutating func secret(within patience: Duration) throws(PromptRefusal) -> Secret {
        deadline = .now + patience
        var answer: [UInt8] = []
        answer.reserveCapacity(Self.answerLimit)
        defer { Self.wipe(&answer) }
        try send("GETPIN", "")
        switch try reply(into: &answer) {
        case .done: return Secret(bytes: answer)
        case .failed(let code) where AssuanLine.isRefusal(code): throw .canceled
        case .failed(let code):
            fault = .refused(code: code)
            throw .notInteractive
        }
    }

    /// Sends `BYE` and waits until the program exits. If it does not exit, it is terminated.
    mutating func end() {
        deadline = .now
        try? send("BYE", "")
        close(child.connection)
        Self.wipe(&buffer)
        if child.status(until: .now + Self.grace) != nil { return }
        kill(child.process, SIGTERM)
        if child.status(until: .now + Self.grace) != nil { return }
        kill(child.process, SIGKILL)
        // A process that the kernel is blocking cannot be killed. It is not waited for.
        _ = child.status(until: .now + Self.grace)
    }

    private mutating func send(_ command: String, _ text: String) throws(PromptRefusal) {
        let line = AssuanLine.request(command, text, limit: Self.lineLimit)
        var rest = line[...]
        while !rest.isEmpty {
            guard child.isReady(POLLOUT, until: deadline) else { throw .canceled }
            let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
            let count = unsafe rest.withUnsafeBytes { unsafe Foundation.send(child.connection, $0.baseAddress, $0.count, flags) }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else { throw end(as: .ended) }
            rest = rest.dropFirst(count)
        }
    }

    private mutating func reply() throws(PromptRefusal) -> Reply {
        var nothing: [UInt8] = []
        return try reply(into: &nothing)
    }

    private mutating func reply(into data: inout [UInt8]) throws(PromptRefusal) -> Reply {
        while true {
            var line = try nextLine()
            defer { Self.wipe(&line) }
            switch AssuanLine(line) {
            case .done: return .done
            case .failed(let code): return .failed(code: code)
            case .data(var part):
                defer { Self.wipe(&part) }
                guard data.count + part.count <= Self.answerLimit else { throw .canceled }
                data += part
            // The program asks for information, such as the quality of a password.
            case .inquiry: try send("END", "")
            case .other: continue
            }
        }
    }

    private mutating func nextLine() throws(PromptRefusal) -> [UInt8] {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(buffer[..<end])
                var rest = Array(buffer[(end + 1)...])
                defer { Self.wipe(&rest) }
                Self.wipe(&buffer)
                buffer += rest
                return line
            }
            var part = [UInt8](repeating: 0, count: 1024)
            defer { Self.wipe(&part) }
            guard child.isReady(POLLIN, until: deadline) else { throw .canceled }
            let count = unsafe part.withUnsafeMutableBytes { unsafe read(child.connection, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw end(as: .ended) }
            guard buffer.count + count <= Self.answerLimit else { throw .canceled }
            buffer += part[..<count]
        }
    }

    /// Records a fault. If the request was canceled, the caller ignores it.
    private mutating func end(as fault: Fault) -> PromptRefusal {
        self.fault = fault
        return .canceled
    }

    /// Overwrites the bytes and keeps the capacity.
    private static func wipe(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { if let start = $0.baseAddress { unsafe explicit_bzero(start, $0.count) } }
        bytes.removeAll(keepingCapacity: true)
    }
}
