import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]))
struct ProtectedWebServerTests {
    let realm: TestRealm

    init() throws {
        realm = try #require(TestRealm.current)
    }

    @Test func `Apache greets the user of a ticket by name`() async throws {
        let cache = try await signIn()
        try await withProtectedWebServer(realm: realm) { server in
            let reply = try await curl(["--negotiate", "-u", ":", "\(server.url)/hello"], cache: cache)
            let complaints = try server.errorLog()
            #expect(reply.output == "Hello alice@EXAMPLE.TEST\n", "\(complaints)")
            try await eventually { try server.accessLog().contains("200 + alice@EXAMPLE.TEST \"GET /hello") }
        }
    }

    @Test func `Apache challenges a request without a ticket`() async throws {
        try await withProtectedWebServer(realm: realm) { server in
            let reply = try await curl(["-i", "\(server.url)/hello"])
            #expect(reply.output.contains("401 Unauthorized"))
            #expect(reply.output.contains("WWW-Authenticate: Negotiate"))
            #expect(!reply.output.contains("NTLM"))
            #expect(try await curl(["\(server.url)/open"]).output == "open\n")
        }
    }

    @Test func `two protected pages can use one connection`() async throws {
        let cache = try await signIn()
        try await withProtectedWebServer(realm: realm) { server in
            let pages = ["\(server.url)/other", "\(server.url)/hello"]
            let reply = try await curl(["--negotiate", "-u", ":"] + pages, cache: cache)
            #expect(reply.output == "Other alice@EXAMPLE.TEST\nHello alice@EXAMPLE.TEST\n")
            // One connection: the same port of the client in both lines.
            try await eventually { try server.accessLog().split(separator: "\n").count == 2 }
            #expect(try Set(server.accessLog().split(separator: "\n").map { $0.split(separator: " ").last }).count == 1)
        }
    }

    @Test(arguments: ["hello", "other", "open"])
    func `a POST request of one mebibyte is accepted`(page: String) async throws {
        let cache = try await signIn()
        let body = "\(realm.directory)/\(UUID().uuidString)"
        try Data(count: 1 << 20).write(to: URL(filePath: body))
        try await withProtectedWebServer(realm: realm) { server in
            let credentials = ["--negotiate", "-u", ":", "--data-binary", "@\(body)"]
            let report = ["-o", "/dev/null", "-w", "%{http_code} %{size_upload}"]
            let reply = try await curl(credentials + report + ["\(server.url)/\(page)"], cache: cache)
            #expect(reply.output == "200 1048576")
        }
    }

    @Test func `a missing service principal is created`() async throws {
        let cache = try await signIn()
        try await withProtectedWebServer(realm: realm, .init(principal: "HTTP/web.example.test", usesReplayCache: false)) { server in
            let address = "http://web.example.test:\(server.port)/hello"
            let resolve = ["--resolve", "web.example.test:\(server.port):127.0.0.1"]
            let reply = try await curl(resolve + ["--negotiate", "-u", ":", address], cache: cache)
            let complaints = try server.errorLog()
            #expect(reply.output == "Hello alice@EXAMPLE.TEST\n", "\(complaints)")
        }
    }

    @Test func `concurrent web servers leave no folder or process`() async throws {
        let directories = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<4 {
                group.addTask { [realm] in
                    try await withProtectedWebServer(realm: realm) { server in
                        let reply = try await curl(["\(server.url)/open"])
                        #expect(reply.output == "open\n")
                        return server.directory
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for directory in directories { expectGone(directory) }
    }

    private func signIn() async throws -> String { try await realm.signIn() }

    private func curl(_ arguments: [String], cache: String? = nil) async throws -> CommandResult {
        try await realm.curl(arguments, cache: cache)
    }
}

extension TestRealm {
    /// Signs a user in with kinit and returns the cache.
    func signIn(_ user: String = "alice", options: [String] = []) async throws -> String {
        let cache = "FILE:\(directory)/\(UUID().uuidString)"
        let login = try await run("kinit", options + [user], environment: ["KRB5CCNAME": cache], input: "secret\n")
        #expect(login.exitStatus == 0, "\(login.errors)")
        return cache
    }

    /// Runs curl with a fixed time limit and without a proxy.
    func curl(_ arguments: [String], cache: String? = nil, input: String? = nil) async throws -> CommandResult {
        let extra = ["no_proxy": "*", "KRB5CCNAME": cache ?? "MEMORY:"]
        return try await run("curl", ["-s", "--max-time", "120"] + arguments, environment: extra, input: input)
    }
}
