import Foundation
import KerberosTesting
import TestSupport
import Testing

@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]))
struct ProtectedWebServerTests {
    let realm: TestRealm

    init() throws {
        realm = try #require(TestRealm.current)
    }

    @Test func alicesNameComesBack() async throws {
        let cache = try await signIn()
        try await withProtectedWebServer(realm: realm) { server in
            let reply = try await curl(["--negotiate", "-u", ":", "\(server.url)/hello"], cache: cache)
            let complaints = try server.errorLog()
            #expect(reply.output == "Hello alice@EXAMPLE.TEST\n", "\(complaints)")
            try await eventually { try server.accessLog().contains("200 + alice@EXAMPLE.TEST \"GET /hello") }
        }
    }

    @Test func aStrangerIsAskedForATicket() async throws {
        try await withProtectedWebServer(realm: realm) { server in
            let reply = try await curl(["-i", "\(server.url)/hello"])
            #expect(reply.output.contains("401 Unauthorized"))
            #expect(reply.output.contains("WWW-Authenticate: Negotiate"))
            #expect(!reply.output.contains("NTLM"))
            #expect(try await curl(["\(server.url)/open"]).output == "open\n")
        }
    }

    @Test(arguments: [true, false])
    func oneTicketVouchesForAConnectionOnlyWhenBound(connectionBound: Bool) async throws {
        let cache = try await signIn()
        try await withProtectedWebServer(realm: realm, .init(connectionBound: connectionBound)) { server in
            let page = "\(server.url)/hello"
            let first = ["--negotiate", "-u", ":", "-o", "/dev/null", "-D", "-", page]
            let second = ["--next", "-s", "-o", "/dev/null", "-w", "%{http_code} %{num_connects}\n", page]
            let reply = try await curl(first + second, cache: cache)
            #expect(reply.output.hasSuffix(connectionBound ? "200 0\n" : "401 0\n"), "\(reply.output)")
            #expect(reply.output.contains("Persistent-Auth: true") == connectionBound)
        }
    }

    @Test func aPrincipalThatIsMissingIsAdded() async throws {
        let cache = try await signIn()
        try await withProtectedWebServer(realm: realm, .init(principal: "HTTP/web.example.test", usesReplayCache: false)) { server in
            let address = "http://web.example.test:\(server.port)/hello"
            let resolve = ["--resolve", "web.example.test:\(server.port):127.0.0.1"]
            let reply = try await curl(resolve + ["--negotiate", "-u", ":", address], cache: cache)
            let complaints = try server.errorLog()
            #expect(reply.output == "Hello alice@EXAMPLE.TEST\n", "\(complaints)")
        }
    }

    @Test func longHeaderFieldsPass() async throws {
        try await withProtectedWebServer(realm: realm) { server in
            let reply = try await curl(["-H", "X-Long: " + String(repeating: "x", count: 60_000), "\(server.url)/open"])
            #expect(reply.output == "open\n")
        }
    }

    @Test func severalServersAtOnceLeaveNothing() async throws {
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

    private func signIn() async throws -> String {
        let cache = "FILE:\(realm.directory)/\(UUID().uuidString)"
        let login = try await realm.run("kinit", ["alice"], environment: ["KRB5CCNAME": cache], input: "secret\n")
        #expect(login.exitStatus == 0, "\(login.errors)")
        return cache
    }

    private func curl(_ arguments: [String], cache: String? = nil) async throws -> CommandResult {
        let extra = ["no_proxy": "*", "KRB5CCNAME": cache ?? "MEMORY:"]
        return try await realm.run("curl", ["-s", "--max-time", "20"] + arguments, environment: extra)
    }
}
