internal import Foundation

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The process that evaluates a PAC file, because its script is as little trusted as the server that it comes from.
///
/// The program calls ``run()`` for its hidden command `proxy evaluate-pac` while the process has only one thread. Each line of the
/// standard input is a `PACRequest`, each line of the standard output the `PACReply`. ``PACEvaluator`` is the other end.
package enum PACWorker {
    /// The arguments of the hidden command.
    package static let arguments = ["proxy", "evaluate-pac"]

    /// What the process must have given up. Landlock is not in every kernel.
    private static let required: [ProcessRestriction] = [.privileges, .systemCalls]
    /// The memory that a script may use, in bytes.
    private static let memory = 128 << 20
    /// The processor time of one evaluation in seconds, for the case that the process that would stop it has exited.
    private static let processorTime = 20

    /// Serves until the end of the input.
    package static func run() -> Never {
        // The engine is loaded before the restrictions, so that its file may be anywhere.
        let engine = PACEngine()
        let restrictions = ProcessRestriction.applyAll(memory: memory)
        var input = PACWorkerInput()
        while let line = input.nextLine() {
            ProcessRestriction.limitProcessorTime(seconds: processorTime)
            guard let request = PACLine.decode(line, as: PACRequest.self) else { _exit(2) }
            guard write(PACLine.encode(reply(to: request, engine, restrictions))) else { _exit(1) }
        }
        _exit(0)
    }

    private static func reply(to request: PACRequest, _ engine: PACEngine?, _ restrictions: [ProcessRestriction]) -> PACReply {
        guard let engine else { return PACReply(failure: "", lacksEngine: true) }
        // The engine is old and its input untrusted: without the filter a script could use the user's tickets.
        guard Set(restrictions).isSuperset(of: required) else { return PACReply(failure: "", lacksRestrictions: true) }
        do throws(PACEngine.Failure) {
            if let script = request.script {
                try engine.load(script)
                return PACReply(restrictions: restrictions)
            }
            // The address may have changed since the last question.
            engine.setAddress(OwnAddress.current())
            return PACReply(answer: try engine.answer(url: request.url ?? "", host: request.host ?? ""))
        } catch {
            return PACReply(failure: error.message)
        }
    }

    private static func write(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Foundation.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

/// The lines of the standard input.
private struct PACWorkerInput {
    /// The length of a line with a script of which each byte is escaped.
    private static let limit = 16 << 20
    private var received: [UInt8] = []

    /// The next line; nil at the end of the input.
    mutating func nextLine() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var searched = 0
        while true {
            if let end = received[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { received.removeSubrange(...end) }
                return Array(received[..<end])
            }
            searched = received.count
            guard searched < Self.limit else { return nil }
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(STDIN_FILENO, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            received += buffer[..<count]
        }
    }
}
