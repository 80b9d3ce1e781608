import Foundation
import KerberosTesting
import Subprocess
import Testing

/// A running program whose output a test reads and whose input the test types.
///
/// Not Sendable, because only the test that started the program uses it.
final class Conversation {
    /// The output so far, without carriage returns.
    private(set) var transcript = ""
    let process: Int32
    private let keyboard: StandardInputWriter
    private var output: SubprocessOutputSequence.Iterator
    private var position = 0

    private struct Ended: Error, CustomStringConvertible {
        let description: String
    }

    private init(process: Int32, keyboard: StandardInputWriter, output: SubprocessOutputSequence.Iterator) {
        self.process = process
        self.keyboard = keyboard
        self.output = output
    }

    /// Waits until a text appears after the text of the previous wait; returns the output up to and including it.
    @discardableResult
    func wait(for text: String) async throws -> String {
        while true {
            let rest = transcript.dropFirst(position)
            if let range = rest.range(of: text) {
                let consumed = String(rest[..<range.upperBound])
                position += consumed.count
                return consumed
            }
            guard try await readMore() else { throw Ended(description: "The program ended before it wrote “\(text)”: \(transcript)") }
        }
    }

    /// Types keys; returns when they are written.
    func type(_ keys: String) async throws {
        _ = try await keyboard.write(keys)
    }

    private func readMore() async throws -> Bool {
        guard let buffer = try await output.next() else { return false }
        let carriageReturn = UInt8(ascii: "\r")
        transcript += buffer.withUnsafeBytes { bytes in String(decoding: bytes.filter { $0 != carriageReturn }, as: UTF8.self) }
        return true
    }

    /// Runs a program and a closure that converses with it, then reads the program's output to its end.
    ///
    /// A program that is still running after ten minutes is killed.
    ///
    /// - Returns: The exit status (128 plus the number for a signal), and the complete output.
    static func with(
        _ command: [String],
        on station: Workstation,
        environment: [String: String] = [:],
        _ body: (Conversation) async throws -> Void
    ) async throws -> (status: Int, transcript: String) {
        let values = station.realm.environment.merging(station.variables) { $1 }.merging(environment) { $1 }
        var transcript = ""
        let outcome = try await Subprocess.run(
            .name(command[0]),
            arguments: Arguments(Array(command.dropFirst())),
            environment: .custom(Dictionary(values.map { (Environment.Key(stringLiteral: $0.key), $0.value) }) { $1 }),
            input: .inputWriter,
            output: .sequence,
            error: .combinedWithOutput
        ) { execution in
            let process = execution.processIdentifier.value
            let deadline = Task {
                try await Task.sleep(for: .seconds(600))
                kill(process, SIGKILL)
            }
            defer { deadline.cancel() }
            let conversation = Conversation(
                process: process,
                keyboard: execution.standardInputWriter,
                output: execution.standardOutput.makeAsyncIterator()
            )
            try await body(conversation)
            while try await conversation.readMore() {}
            transcript = conversation.transcript
        }
        switch outcome.terminationStatus {
        case .exited(let status): return (Int(status), transcript)
        case .signaled(let number): return (128 + Int(number), transcript)
        }
    }

    /// Runs a shell command at its own terminal, which `script` creates.
    static func atTerminal(
        _ command: String,
        on station: Workstation,
        environment: [String: String] = [:],
        _ body: (Conversation) async throws -> Void
    ) async throws -> (status: Int, transcript: String) {
        let plain = ["TERM": "dumb", "PS1": "ready> ", "ENV": "", "HISTFILE": "/dev/null", "TMUX": ""]
        return try await with(
            ["script", "-qefc", command, "/dev/null"],
            on: station,
            environment: plain.merging(environment) { $1 },
            body
        )
    }
}
