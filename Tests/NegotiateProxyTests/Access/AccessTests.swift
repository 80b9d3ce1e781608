import Foundation
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import NegotiateProxy

/// Who may use the proxy.
@Suite struct AccessTests {
    private static let table = """
          sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
           0: 0100007F:0C38 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0000000000000000 100 0 0 10 0
           1: 0100007F:0C38 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 0000000000000000 20 4 30 10 -1
           2: 0100007F:9C40 0100007F:0C38 01 00000000:00000000 00:00000000 00000000  1001        0 13 1 0000000000000000 20 4 30 10 -1
           3: 0100007F:9C41 0100007F:0C38 01 00000000:00000000 00:00000000 00000000     0        0 0 1 0000000000000000 20 4 30 10 -1
           4: 0100007F:9C42 0100007F:0C38 08 00000000:00000000 00:00000000 00000000  1002        0 14 1 0000000000000000 20 4 30 10 -1
           5: 0000000000000000FFFF00000100007F:9C43 0000000000000000FFFF00000100007F:0C38 01 00000000:00000000 00:00000000 00000000  1003        0 15 1 0000000000000000 20 4 30 10 -1
           6: 00000000000000000000000001000000:9C44 00000000000000000000000001000000:0C38 01 00000000:00000000 00:00000000 00000000  1004        0 16 1 0000000000000000 20 4 30 10 -1
           7: 0100007F:9C45 0100007F:0C38 05 00000000:00000000 00:00000000 00000000  1005        0 17 1 0000000000000000 20 4 30 10 -1
           8: 0100007F:9C46 0100007F:0C38 04 00000000:00000000 00:00000000 00000000  1006        0 18 1 0000000000000000 20 4 30 10 -1
           9: 0100007F:9C47 0100007F:0C38 05 00000000:00000000 00:00000000 00000000     0        0 0 1 0000000000000000 20 4 30 10 -1

        """

    @Test(
        arguments: [
            (40000, [127, 0, 0, 1], 1001), (40003, [127, 0, 0, 1], 1003), (40004, [UInt8](repeating: 0, count: 15) + [1], 1004),
            (40005, [127, 0, 0, 1], 1005), (40006, [127, 0, 0, 1], 1006),
        ] as [(UInt16, [UInt8], UInt32)]
    )
    func `the client's socket is found in the kernel's table, not the proxy's own`(port: UInt16, address: [UInt8], user: UInt32) {
        let client = TCPSocketName(address: address, port: port)
        let server = TCPSocketName(address: address, port: 3128)
        #expect(ProcessFileTable.userID(in: Self.table, from: client, to: server) == user)
    }

    @Test(arguments: [40001, 40002, 40007, 40009] as [UInt16])
    func `a socket that was closed, or is not there, has no user`(port: UInt16) {
        let client = TCPSocketName(address: [127, 0, 0, 1], port: port)
        let server = TCPSocketName(address: [127, 0, 0, 1], port: 3128)
        #expect(ProcessFileTable.userID(in: Self.table, from: client, to: server) == nil)
    }

    @Test func `both tables of the kernel name this user for a connection of this process`() async throws {
        // A server that does not close when the client ends its sending direction.
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .bind(host: "127.0.0.1", port: 0).get()
        let (client, remote) = try await connectedNames(port: try #require(server.localAddress?.port))
        #expect(client.names.map { ProcessFileTable.userID(from: $0, to: remote) } == [geteuid()])
        #expect(client.names.map { TCPSocketTable.userID(from: $0, to: remote) } == [geteuid()])
        // A client may end its sending direction behind its request.
        try await client.channel.close(mode: .output).get()
        #expect(client.names.map { ProcessFileTable.userID(from: $0, to: remote) } == [geteuid()])
        #expect(client.names.map { TCPSocketTable.userID(from: $0, to: remote) } == [geteuid()])
        try await client.channel.close()
        try await server.close()
    }

    @Test func `a client that sends no more behind its request gets the response`() async throws {
        try await ScriptedServer.run { _ in
            .response(200, body: "hello")
        } _: { server in
            let port = server.port
            let reply = try await withProxy { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send("GET http://127.0.0.1:\(port)/ HTTP/1.0\r\n\r\n")
                    connection.finish()
                    return try await connection.textToEnd()
                }
            }
            #expect(reply.hasPrefix("HTTP/1.1 200"), "\(reply)")
            #expect(reply.hasSuffix("hello"))
        }
    }

    @Test func `a connection of the proxy to itself is refused, because it would count as one of this user`() async throws {
        try await withProxy { proxy in
            let reply = try await withRawConnection(port: proxy.port) { connection in
                try await connection.send("CONNECT 127.0.0.1:\(proxy.port) HTTP/1.1\r\nHost: 127.0.0.1:\(proxy.port)\r\n\r\n")
                _ = try await connection.head()
                try await connection.send("GET http://localhost:1/ HTTP/1.1\r\nHost: localhost:1\r\n\r\n")
                return try await connection.textToEnd()
            }
            #expect(reply.hasPrefix("HTTP/1.1 508"), "\(reply)")
        }
    }

    @Test(
        .enabled(if: geteuid() == 0, "Only root can run curl as another user."),
        arguments: ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"],
        [false, true]
    )
    func `an admitted user reaches no server on this machine as the proxy's user`(host: String, opensTunnel: Bool) async throws {
        let nobody: UInt32 = 65_534
        try await ScriptedServer.run { _ in
            .response(200, body: "secret page")
        } _: { server in
            let url = "http://\(host):\(server.port)/"
            let output = try await withProxy {
                $0.users.insert(nobody)
            } _: { proxy in
                try await curl(["-v", "-x", proxy.url, url] + (opensTunnel ? ["-p"] : []), user: "nobody")
            }
            #expect(output.contains("HTTP/1.1 403"), "\(output)")
            #expect(output.contains("Ksso-Proxy-Error: User \(nobody) cannot connect to this machine through this proxy"), "\(output)")
            #expect(server.requests.isEmpty)
        }
    }

    @Test(
        arguments: [([127, 9, 9, 9], true), ([192, 0, 2, 1], false)] as [([UInt8], Bool)]
    )
    func `the kernel says which addresses are this machine's`(address: [UInt8], isOwn: Bool) {
        // Without a route to another machine it says nothing.
        #expect((KernelRoute.isLocal(address) ?? false) == isOwn)
    }

    @Test(arguments: [(-ENOENT, true), (-EACCES, false), (Int32.min, false)])
    func `an error of the kernel's socket table means absence only if it says so`(code: Int32, isAbsent: Bool) {
        let client = TCPSocketName(address: [127, 0, 0, 1], port: 8080)
        let header = UInt32(36).hostBytes + UInt16(2).hostBytes + UInt16(0).hostBytes + [UInt8](repeating: 0, count: 8)
        let answer = SocketDiagnosis.answer(header + code.hostBytes + [UInt8](repeating: 0, count: 16), client, client)
        #expect(answer == (isAbsent ? .absent : .unavailable))
    }

    @Test(.enabled(if: geteuid() == 0, "Only root can run curl as another user."))
    func `another user gets a page that says why`() async throws {
        let reply = try await withProxy { proxy in
            try await curl(["-i", "-x", proxy.url, "http://127.0.0.1:1/"], user: "nobody")
        }
        #expect(reply.contains("HTTP/1.1 403 Forbidden"))
        #expect(reply.contains("This proxy belongs to another user of this machine"))
    }

    @Test(.enabled(if: geteuid() == 0, "Only root can run curl as another user."))
    func `another user who may connect to the Unix socket gets a page that says why`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "proxy-\(UUID().uuidString).sock").path
        let reply = try await withProxy {
            $0.listeners.append(.unix(path: path))
        } _: { proxy in
            chmod(path, 0o666)
            return try await curl(["-i", "--unix-socket", path, "http://127.0.0.1:1/"], user: "nobody")
        }
        #expect(reply.contains("HTTP/1.1 403 Forbidden"))
    }
}
