internal import Foundation
internal import Kerberos

/// One run of `secret-tool`: no shell; a secret goes to its standard input, and one comes from its standard output.
///
/// It blocks: it belongs to a thread that may wait.
struct SecretToolRun: Sendable {
    /// How it ended.
    struct Outcome: Sendable {
        /// The status of waitpid(2).
        let status: Int32
        let output: Secret
    }

    let program: String
    let arguments: [String]
    let environment: [String: String]
    /// A desktop may ask for the password of its keyring meanwhile.
    var patience = Duration.seconds(60)

    private static let limit = 4096

    /// Runs it to its end. Nil where it can't be run, says too much, or does not end in time: it is killed then.
    func outcome(input: Secret?) -> Outcome? {
        guard let child = ChildProgram(program, arguments, environment: environment, showsErrors: false) else { return nil }
        defer { close(child.connection) }
        let deadline = ContinuousClock.now + patience
        if let input { Self.send(input, child.connection) }
        shutdown(child.connection, Int32(SHUT_WR))
        let output = Self.read(child, until: deadline)
        // At the end of its output it is about to end; one that lingers is ended.
        if output != nil, let status = child.status(until: deadline) { return output.map { Outcome(status: status, output: $0) } }
        kill(child.process, SIGKILL)
        _ = child.status(until: .now + .seconds(1))
        return nil
    }

    /// It is short enough for the socket to take it at once.
    private static func send(_ secret: Secret, _ connection: Int32) {
        unsafe secret.withUnsafeBytes { bytes in
            _ = unsafe Foundation.send(connection, bytes.baseAddress, bytes.count, Int32(Int(MSG_NOSIGNAL) | Int(MSG_DONTWAIT)))
        }
    }

    private static func read(_ child: ChildProgram, until deadline: ContinuousClock.Instant) -> Secret? {
        var bytes = [UInt8](repeating: 0, count: limit)
        defer { unsafe bytes.withUnsafeMutableBytes { if let start = $0.baseAddress { unsafe explicit_bzero(start, $0.count) } } }
        var count = 0
        while count < limit {
            guard child.isReady(POLLIN, until: deadline) else { return nil }
            let part = unsafe bytes.withUnsafeMutableBytes {
                unsafe Foundation.read(child.connection, $0.baseAddress?.advanced(by: count), $0.count - count)
            }
            if part == 0 { return Secret(bytes: bytes[..<count]) }
            guard part > 0 || errno == EINTR else { return nil }
            count += max(part, 0)
        }
        return nil
    }
}
