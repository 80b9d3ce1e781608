import Foundation
import SystemSupport
import TestSupport
import Testing

@testable import KCM

/// How the listening socket is bound, depending on what is at its path, or inherited.
struct SocketTests {
    private func code(_ body: () throws(SocketError) -> Void) -> SocketError.Code? {
        do { try body() } catch { return error.code }
        return nil
    }

    @Test func `a socket file without a listener is replaced`() async throws {
        try await withFolder { folder in
            let path = "\(folder)/kcm.sock"
            // Closing the socket leaves its file behind.
            _ = try ListeningSocket.bind(path: path)
            #expect(FileManager.default.fileExists(atPath: path))
            let server = try KCMServer(.forEveryone())
            try await server.serve(try ListeningSocket.bind(path: path))
            try await withConnection(path) { connection async throws in #expect(try await connection.code(.noOperation) == .ok) }
            await server.shutDown()
        }
    }

    @Test func `a socket file with a live listener is not replaced`() async throws {
        try await withServer { running in
            #expect(code { () throws(SocketError) in _ = try ListeningSocket.bind(path: running.path) } == .inUse)
            try await withConnection(running.path) { connection async throws in #expect(try await connection.code(.noOperation) == .ok) }
        }
    }

    @Test func `a regular file or a symbolic link at the socket path is not replaced`() async throws {
        try await withFolder { folder in
            let path = "\(folder)/kcm.sock"
            try "precious".write(toFile: path, atomically: false, encoding: .utf8)
            #expect(code { () throws(SocketError) in _ = try ListeningSocket.bind(path: path) } == .notASocket)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
            try FileManager.default.createSymbolicLink(atPath: "\(folder)/link", withDestinationPath: path)
            #expect(code { () throws(SocketError) in _ = try ListeningSocket.bind(path: "\(folder)/link") } == .notASocket)
        }
    }

    @Test(arguments: [(103, nil), (104, .pathTooLong)] as [(Int, SocketError.Code?)])
    func `a socket path that is too long is refused, not truncated`(length: Int, expected: SocketError.Code?) async throws {
        try await withFolder { folder in
            let path = folder + "/" + String(repeating: "s", count: length - folder.utf8.count - 1)
            #expect(code { () throws(SocketError) in _ = try ListeningSocket.bind(path: path) } == expected)
            let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(files.count == (expected == nil ? 1 : 0))
        }
    }

    @Test(arguments: [0o600, 0o660, 0o666] as [UInt32])
    func `the socket has the requested mode regardless of the umask`(mode: UInt32) async throws {
        try await withFolder { folder in
            let path = "\(folder)/kcm.sock"
            let socket = try ListeningSocket.bind(path: path, mode: mode)
            var status = stat()
            #expect(lstat(path, &status) == 0)
            #expect(status.st_mode & 0o777 == mode)
            #expect(socket.path == path)
        }
    }

    @Test func `binding a socket in a missing folder fails with ENOENT`() async throws {
        try await withFolder { folder in
            #expect(code { () throws(SocketError) in _ = try ListeningSocket.bind(path: "\(folder)/no/kcm.sock") } == .system(ENOENT))
        }
    }

    @Test func `an inherited socket is served`() async throws {
        try await withFolder { folder in
            let path = "\(folder)/kcm.sock"
            let inherited = try ListeningSocket(inherited: try ListeningSocket.bind(path: path).take())
            #expect(inherited.path == path)
            let server = try KCMServer(.forEveryone())
            try await server.serve(inherited)
            try await withConnection(path) { connection async throws in #expect(try await connection.code(.noOperation) == .ok) }
            await server.shutDown()
        }
    }

    /// SwiftNIO's default backlog is 128.
    @Test func `no connection is refused while hundreds are waiting`() async throws {
        for _ in 0..<3 {
            try await withFolder { folder in
                let socket = try ListeningSocket.bind(path: "\(folder)/kcm.sock")
                let path = socket.path
                let waiting = (0..<200).map { _ in connect(to: path) }
                defer { for descriptor in waiting where descriptor >= 0 { close(descriptor) } }
                #expect(waiting.allSatisfy { $0 >= 0 })
                let server = try KCMServer(.forEveryone())
                // Fewer than the backlog has room for.
                async let others = Task.detached {
                    (0..<800).map { _ in
                        let descriptor = connect(to: path)
                        return descriptor >= 0 && close(descriptor) == 0
                    }
                }.value
                try await server.serve(socket)
                #expect(await others.allSatisfy { $0 })
                try await withConnection(path) { connection async throws in #expect(try await connection.code(.noOperation) == .ok) }
                await server.shutDown()
            }
        }
    }

    @Test func `a descriptor that is not a listening socket is refused`() throws {
        let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let file = open("/dev/null", O_RDONLY)
        defer {
            close(socket)
            close(file)
        }
        for descriptor in [socket, file, -1] {
            #expect(code { () throws(SocketError) in _ = try ListeningSocket(inherited: descriptor) } == .unusableDescriptor)
        }
    }
}

/// Opens a connection without blocking; returns -1 if it is refused at once.
private func connect(to path: String) -> Int32 {
    guard let address = UnixSocketAddress(path: path) else { return -1 }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
    guard address.lent(to: { connect(descriptor, $0, $1) }) == 0 else {
        close(descriptor)
        return -1
    }
    return descriptor
}
