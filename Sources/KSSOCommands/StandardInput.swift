internal import Foundation
internal import Kerberos

/// Standard input, read where it may block: on the main actor, which has nothing else to do.
@MainActor
enum StandardInput {
    /// The first line, without its end, as a secret.
    static func secretLine() throws -> Secret {
        var line: [UInt8] = []
        line.reserveCapacity(1024)
        defer { line.withUnsafeMutableBytes { if let start = $0.baseAddress { explicit_bzero(start, $0.count) } } }
        var byte: UInt8 = 0
        while line.count < 1024 {
            let count = read(STDIN_FILENO, &byte, 1)
            if count < 0 && errno == EINTR { continue }
            if count <= 0 || byte == UInt8(ascii: "\n") { break }
            line.append(byte)
        }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard !line.isEmpty else { throw CommandFailure(.notInteractive, "standard input holds no password.") }
        guard line.count < 1024 else { throw CommandFailure(.failed, "the password on standard input is longer than 1,023 bytes.") }
        return Secret(bytes: line)
    }
}
