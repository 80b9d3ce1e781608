import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@testable import KCM

/// How libkrb5's programs read a cache's file directly, without the server.
@Suite(.testRealm(users: ["alice": "wonderland"], services: ["HTTP/server", "host/other"]))
struct RemovedTicketFileTests {
    private func cacheFile(in folder: String) throws -> String {
        let paths = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return "\(folder)/\(try #require(paths.first { $0.hasSuffix(".ccache") }))"
    }

    @Test func `programs that read a cache's file do not see removed tickets`() async throws {
        let realm = try #require(TestRealm.current)
        try await withFolder { folder in
            try await withServer(.forEveryone(directory: "\(folder)/caches")) { running in
                func run(_ program: String, _ arguments: String..., input: String? = nil) async throws -> String {
                    let result = try await running.run(program, arguments, in: realm, input: input)
                    #expect(result.exitStatus == 0, "\(program) \(arguments): \(result.errors)")
                    return result.output
                }
                _ = try await run("kinit", "alice", input: "wonderland\n")
                _ = try await run("kvno", "HTTP/server", "host/other")
                let path = try cacheFile(in: folder)
                #expect(try await run("klist", "-c", "FILE:\(path)").contains("HTTP/server@"))

                let recovered = try RecoveredCache(Array(try Data(contentsOf: URL(filePath: path))))
                let ticket = try #require(recovered.cache.credentials.first { Data($0.server.bytes).range(of: Data("HTTP".utf8)) != nil })
                let pattern = Fields(
                    client: Array(ticket.client.bytes),
                    server: Array(ticket.server.bytes),
                    type: 0,
                    times: CredentialTimes(),
                    ticket: []
                )
                let name = recovered.header.name.description
                try await withConnection(running.path) { connection in
                    let code = try await connection.code(.remove, name, pattern.patternBytes())
                    #expect(code == .ok)
                }
                let left = try await run("klist", "-c", "FILE:\(path)")
                #expect(!left.contains("HTTP/server@") && left.contains("host/other@"), "\(left)")

                // The new ticket follows the removed one in the file.
                _ = try await run("kvno", "HTTP/server")
                let copy = "\(folder)/copy"
                try FileManager.default.copyItem(atPath: path, toPath: copy)
                #expect(try await run("kvno", "--cached-only", "-c", "FILE:\(copy)", "HTTP/server").contains("kvno = "))
                let all = try await run("klist", "-c", "FILE:\(copy)")
                #expect(all.components(separatedBy: "HTTP/server@").count == 2, "\(all)")
            }
        }
    }
}
