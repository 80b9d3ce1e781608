import Foundation
import KCM
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

@testable import SSOAgent

/// How a profile limits the tickets to the programs of systemd units. The test makes up the unit of each program.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]))
struct UnitAccessTests {
    private func policy(_ programs: [String]) -> AccessPolicy {
        var configuration = ExtensionConfiguration(realm: "EXAMPLE.TEST")
        configuration.credentialCallers = [.unit("backup.service")]
        return AccessPolicy(owner: geteuid(), configurations: [configuration], ownExecutable: nil) { process in
            let name = CallerIdentity(processID: process).executable.map { URL(filePath: $0).lastPathComponent } ?? ""
            return CallerIdentity(unit: programs.contains { name.hasPrefix($0) } ? "backup.service" : "app.scope")
        }
    }

    @Test func `the cache server serves programs of a permitted unit and refuses others`() async throws {
        let realm = try #require(TestRealm.current)
        let policy = policy(["kinit", "kvno"])
        try await withFolder { folder in
            let configuration = "\(folder)/krb5.conf"
            let text = "[libdefaults]\n    kcm_socket = \(folder)/s\n    default_ccache_name = KCM:\n"
            try text.write(toFile: configuration, atomically: true, encoding: .utf8)
            let server = try KCMServer(KCMServer.Options(isPermitted: { policy.permitsCaches($0) }))
            try await server.serve(try ListeningSocket.bind(path: "\(folder)/s"))
            func run(_ words: String..., input: String? = nil) async throws -> CommandResult {
                let variables = ["-u", "KRB5CCNAME", "LC_ALL=C", "KRB5_CONFIG=\(configuration):\(realm.configurationPath)"]
                return try await realm.run("/usr/bin/env", variables + words, input: input)
            }
            do {
                #expect(try await run("kinit", "alice", input: "secret\n").exitStatus == 0)
                #expect(try await run("kvno", "HTTP/www.example.test").exitStatus == 0)
                let denied = try await run("klist")
                #expect(denied.exitStatus == 1 && denied.output == "", "\(denied)")
                #expect(denied.errors == "klist: Permission denied while resolving ccache\n")
                #expect(try await run("kdestroy").errors.contains("Permission denied"))
                #expect(await server.counts.map(\.tickets) == [2])
            } catch {
                await server.shutDown()
                throw error
            }
            await server.shutDown()
        }
    }

    @Test(arguments: [true, false]) func `the API serves programs of a permitted unit and refuses others`(isListed: Bool) async throws {
        try await RunningAgent.run(
            in: try #require(TestRealm.current),
            change: { $0.credentialCallers = [.unit("backup.service")] },
            access: policy(isListed ? ["curl"] : ["wget"])
        ) { agent in
            let reply = try await agent.curl(["--data", #"{"url": "https://www.example.test/"}"#, "http://ksso/v1/authorize"])
            #expect(reply.status == (isListed ? 200 : 403))
            #expect(reply.body.contains("credentialBundleIdACL does not list ") == !isListed, "\(reply.body)")
        }
    }
}
