internal import Foundation
internal import Kerberos

/// A conversation with a program by the Assuan protocol: a line asks, `OK` or `ERR` answers, `D` lines bring data.
///
/// It blocks: it belongs to a thread that may wait. What is sent is no secret; what comes is wiped.
struct AssuanDialogue: ~Copyable {
    let child: ChildProgram
    private var deadline = ContinuousClock.now + AssuanDialogue.patience
    private var buffer: [UInt8] = []
    /// What the program did wrong; nil where it did what it should, and where nobody waited for it any longer.
    private(set) var fault: Fault?

    /// The longest line of the protocol, and the longest answer that is taken.
    private static let lineLimit = 1000
    private static let answerLimit = 4096
    /// How long the program may take over what no person has to answer.
    private static let patience = Duration.seconds(60)
    /// How long it may take to end by itself, and then by a signal.
    private static let grace = Duration.seconds(1)

    /// How a request ended.
    enum Reply: Equatable {
        case done
        /// The number without the part that names the program that gave it (libgpg-error).
        case failed(code: UInt32)
    }

    /// What a program does wrong.
    enum Fault: Equatable {
        /// It ended before it had asked.
        case endedAtOnce
        /// It ended in the midst of the question.
        case ended
        /// It would not ask: the number of libgpg-error.
        case refused(code: UInt32)
        /// It said nothing.
        case silent
    }

    /// - Parameters:
    ///   - program: its path.
    ///   - environment: its variables, all of them.
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

    /// Sends a request; the text is escaped.
    mutating func request(_ command: String, _ text: String = "") throws(PromptRefusal) -> Reply {
        deadline = .now + Self.patience
        try send(command, text)
        return try reply()
    }

    /// Asks the person, for so long at most.
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

    /// Takes leave, and waits for the program's end; one that does not end is ended.
    mutating func end() {
        deadline = .now
        try? send("BYE", "")
        close(child.connection)
        Self.wipe(&buffer)
        if child.status(until: .now + Self.grace) != nil { return }
        kill(child.process, SIGTERM)
        if child.status(until: .now + Self.grace) != nil { return }
        kill(child.process, SIGKILL)
        // What the kernel itself holds back is not waited for.
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
            // It wants to know something, such as how good a password is.
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

    /// Whoever wanted it to end knows why.
    private mutating func end(as fault: Fault) -> PromptRefusal {
        self.fault = fault
        return .canceled
    }

    /// Overwrites the bytes; the capacity stays.
    private static func wipe(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { if let start = $0.baseAddress { unsafe explicit_bzero(start, $0.count) } }
        bytes.removeAll(keepingCapacity: true)
    }
}

/// A line that a program sends by the Assuan protocol.
enum AssuanLine: Equatable {
    case done
    /// The number without the part that names the program that gave it (libgpg-error).
    case failed(code: UInt32)
    case data([UInt8])
    case inquiry
    /// A status, a remark, or what a later version knows.
    case other

    init(_ line: [UInt8]) {
        let word = line.prefix { $0 != UInt8(ascii: " ") }
        let rest = line.dropFirst(word.count + 1)
        switch String(decoding: word, as: UTF8.self) {
        case "OK": self = .done
        case "D": self = .data(Self.unescaped(rest))
        case "INQUIRE": self = .inquiry
        case "ERR":
            let number = UInt32(String(decoding: rest.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self))
            self = .failed(code: (number ?? 0) & 0xFFFF)
        default: self = .other
        }
    }

    /// Whether a person gave up, or nobody came: canceled, fully canceled, timeout, not confirmed.
    static func isRefusal(_ code: UInt32) -> Bool { [62, 99, 114, 198].contains(code) }

    /// A request as bytes, its line end included; what does not fit is left out.
    static func request(_ command: String, _ text: String, limit: Int) -> [UInt8] {
        var line = Array(command.utf8)
        if !text.isEmpty { line.append(UInt8(ascii: " ")) }
        for character in text {
            let part = character.utf8.flatMap { byte in
                byte == UInt8(ascii: "%") || byte < 0x20 || byte == 0x7F ? Array("%\(hexadecimal(byte))".utf8) : [byte]
            }
            guard line.count + part.count < limit else { break }
            line += part
        }
        return line + [UInt8(ascii: "\n")]
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16, uppercase: true)
        return byte < 16 ? "0" + digits : digits
    }

    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var rest = bytes
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = digit(rest.first), let low = digit(rest.dropFirst().first) {
                result.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }

    private static func digit(_ byte: UInt8?) -> UInt8? {
        switch byte {
        case .some(let byte) where (0x30...0x39).contains(byte): byte - 0x30
        case .some(let byte) where (0x41...0x46).contains(byte): byte - 0x37
        case .some(let byte) where (0x61...0x66).contains(byte): byte - 0x57
        default: nil
        }
    }
}
