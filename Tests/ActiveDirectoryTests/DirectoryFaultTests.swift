import ActiveDirectory
import Glibc
import KerberosTesting
import KerberosTestingTraits
import Testing

@testable import Kerberos

/// Servers that are found where a controller should be, with a ticket of a real KDC.
@Suite(.testRealm(users: ["alice": "secret"], services: ["ldap/127.0.0.1/example.test"])) struct DirectoryFaultTests {
    /// The error of reading alice's account at a port of this machine.
    private func failure(
        port: UInt16,
        requiresTLS: Bool = false,
        limit: Duration = .milliseconds(300)
    ) async throws -> DirectoryError? {
        let realm = try #require(TestRealm.current)
        let client = KerberosClient(realm.configuration)
        let alice = try Principal("alice@EXAMPLE.TEST")
        let cache = try await client.newCacheName(type: "MEMORY")
        try await client.replace(
            cache,
            principal: alice,
            credentials: [try await client.initialCredential(for: alice, using: .password(Secret("secret")))]
        )
        var options = DomainDirectory.Options()
        options.port = port
        options.limit = limit
        options.requiresTLS = requiresTLS
        let directory = DomainDirectory(realm: "EXAMPLE.TEST", controllers: ["127.0.0.1"], options: options)
        do throws(DirectoryError) {
            _ = try await directory.record(of: alice, using: client, cache: cache)
            return nil
        } catch {
            return error
        }
    }

    @Test(.enabled(if: DomainDirectory.isAvailable, "libldap is not installed"), arguments: FaultyController.Fault.allCases, [false, true])
    func `a server that is no controller is reported, and does no harm`(fault: FaultyController.Fault, requiresTLS: Bool) async throws {
        let server = try FaultyController(fault)
        defer { server.stop() }
        let error = try #require(try await failure(port: server.port, requiresTLS: requiresTLS))
        #expect([.unreachable, .other, .refused, .tlsFailed].contains(error.code), "\(error)")
        #expect(error.subject == "127.0.0.1" && error.message.hasSuffix("."), "\(error)")
        #expect(error.message.count < 600, "\(error)")
    }

    @Test(.enabled(if: DomainDirectory.isAvailable, "libldap is not installed"))
    func `a closed port is reported`() async throws {
        let server = try FaultyController(.silent)
        server.stop()
        let error = try #require(try await failure(port: server.port))
        #expect(error.code == .unreachable, "\(error)")
    }

    @Test(.enabled(if: DomainDirectory.isAvailable, "libldap is not installed"))
    func `a canceled reading is no failure of the network`() async throws {
        let (questions, question) = AsyncStream.makeStream(of: Void.self)
        let server = try FaultyController { connection in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while recv(connection, &buffer, buffer.count, 0) > 0 { question.yield() }
        }
        defer { server.stop() }
        let reading = Task { try await failure(port: server.port, limit: .seconds(20)) }
        for await _ in questions { break }
        reading.cancel()
        #expect(try await reading.value?.code == .canceled)
    }

    /// Proves that it has the key, and answers that more is to come.
    @Test(.enabled(if: DomainDirectory.isAvailable, "libldap is not installed"))
    func `a controller that does not finish the sign-in is refused`() async throws {
        let credential = try AcceptorCredential(keytab: try #require(TestRealm.current).keytabPath, replayCache: .disabled)
        let server = try FaultyController { connection in
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = recv(connection, &buffer, buffer.count, 0)
                guard count > 0, let answer = Self.unfinishedAnswer(to: buffer.prefix(count), credential) else { return }
                _ = send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
            }
        }
        defer { server.stop() }
        let error = try #require(try await failure(port: server.port, limit: .seconds(20)))
        #expect(error.code == .refused && error.message.contains("did not finish the sign-in"), "\(error)")
    }

    /// The answer to a BindRequest (RFC 4511 section 4.2) with the result 14; nil to other messages.
    private static func unfinishedAnswer(to request: ArraySlice<UInt8>, _ credential: AcceptorCredential) -> [UInt8]? {
        typealias Encoding = BasicEncoding
        guard var message = Encoding.content(of: request, Encoding.sequence),
            let number = Encoding.next(in: &message, Encoding.integer),
            var bind = Encoding.content(of: message, Encoding.application(0)),
            Encoding.next(in: &bind, Encoding.integer) != nil, Encoding.next(in: &bind, Encoding.octetString) != nil,
            var sasl = Encoding.content(of: bind, Encoding.context(3)), Encoding.next(in: &sasl, Encoding.octetString) != nil,
            let token = Encoding.content(of: sasl, Encoding.octetString),
            let step = try? SPNEGOAcceptor(credential: credential).step(Array(token))
        else { return nil }
        let reply: [UInt8] =
            switch consume step {
            case .proceed(let token, _): token
            case .established(let token, _): token ?? []
            }
        let empty = Encoding.element(Encoding.octetString, [])
        let result = Encoding.element(Encoding.enumerated, [14]) + empty + empty + Encoding.element(0x87, reply)
        let content = Encoding.element(Encoding.integer, Array(number)) + Encoding.element(Encoding.application(1), result)
        return Encoding.element(Encoding.sequence, content)
    }
}
