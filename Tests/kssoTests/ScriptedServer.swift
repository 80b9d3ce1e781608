import Dispatch
import Foundation
import Synchronization

/// A server on loopback that accepts one request per connection and returns the answer of the test.
final class ScriptedServer: Sendable {
    /// What the server does with a request.
    enum Answer {
        /// Sends this text, then closes the connection.
        case text(String)
        /// Closes the connection without an answer.
        case drop
    }

    /// The TCP port of 127.0.0.1.
    let port: Int
    private let listener: Int32
    private let heads = Mutex<[String]>([])

    private struct Refused: Error {
        let code: Int32
    }

    /// The heads of the requests so far.
    var requests: [String] { heads.withLock { $0 } }

    /// Runs a server during a closure.
    ///
    /// - Parameter answer: Receives the request's head and the number of requests before it. Runs on a thread of the server.
    static func with<R>(
        _ answer: @escaping @Sendable (_ head: String, _ number: Int) -> Answer,
        _ body: (ScriptedServer) async throws -> R
    ) async throws -> R {
        let server = try ScriptedServer()
        let ended = Mutex(false)
        DispatchQueue(label: "scripted server").async { server.serve(answer) }
        defer { ended.withLock { if !$0 { shutdown(server.listener, Int32(SHUT_RDWR)); $0 = true } } }
        return try await body(server)
    }

    private init() throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                bind(descriptor, name, size) == 0 && listen(descriptor, 16) == 0 && getsockname(descriptor, name, &size) == 0
            }
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        guard bound else { throw Refused(code: errno) }
    }

    private func serve(_ answer: @Sendable (String, Int) -> Answer) {
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { break }  // the listener was shut down
            defer { close(connection) }
            guard let head = Self.readHead(connection) else { continue }
            let number = heads.withLock { heads in
                heads.append(head)
                return heads.count - 1
            }
            guard case .text(let text) = answer(head, number) else {
                shutdown(connection, Int32(SHUT_RDWR))  // even if another process has a copy of the descriptor
                continue
            }
            let bytes = Array(text.utf8)
            _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            shutdown(connection, Int32(SHUT_WR))
            Self.readToEnd(connection)
        }
        close(listener)
    }

    /// The first byte of a TLS handshake record (RFC 8446 section 5.1), in which the end of a head would never come.
    private static let tlsHandshake: UInt8 = 22

    private static func readHead(_ connection: Int32) -> String? {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.suffix(4) != Array("\r\n\r\n".utf8) {
            guard bytes.count < 65536, recv(connection, &byte, 1, 0) == 1 else { return nil }
            bytes.append(byte)
            guard bytes[0] != tlsHandshake else { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads until the client closes, because closing a connection with unread data resets it, and the client may lose the answer.
    private static func readToEnd(_ connection: Int32) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while recv(connection, &buffer, buffer.count, 0) > 0 {}
    }
}

extension ScriptedServer.Answer {
    /// A complete response, after which the connection closes.
    static func response(_ status: String, _ fields: [String] = [], _ body: String = "") -> Self {
        let lines = ["HTTP/1.1 \(status)"] + fields + ["Content-Length: \(body.utf8.count)", "Connection: close"]
        return .text(lines.map { $0 + "\r\n" }.joined() + "\r\n" + body)
    }
}
