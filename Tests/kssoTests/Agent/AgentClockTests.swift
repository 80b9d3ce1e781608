import Foundation
import HTTPNegotiate
import HTTPTypes
import KerberosTesting
import SSOAgentClient
import SignOnPolicy
import TestSupport
import Testing

/// The clock of the machine is corrected while an agent runs.
@Suite(
    .enabled(if: MovableClock.isAvailable, MovableClock.obstacle),
    .skipped(under: .address, because: MovableClock.sanitizerObstacle),
    .skipped(under: .thread, because: MovableClock.sanitizerObstacle),
    .timeLimit(.minutes(5))
)
struct AgentClockTests {
    @Test(arguments: [3600, -3600])
    func `an agent's tokens are valid as soon as the machine's clock is corrected`(offset: Int) async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            let station = try Workstation(realm: realm)
            try station.install(profile())
            let clock = try MovableClock(station, offset: offset < 0 ? "\(offset)s" : "+\(offset)s")
            try await clock.withAgent {
                let client = try await AgentClient.connect(socketPath: "\(station.runtime)/agent.sock")
                try await client.login("alice", using: .password(Secret("secret")))
                func accepted() async throws -> String {
                    let request = AuthorizationRequest(url: try #require(URL(string: "http://localhost/")))
                    guard case .headers(let grant) = try await client.beginAuthorization(with: request) else { return "" }
                    let value = grant.headers[.authorization] ?? ""
                    let token = Data(base64Encoded: String(value.dropFirst("Negotiate ".count))).map { Array($0) } ?? []
                    return try Acceptance(token, keytab: realm.keytabPath).client
                }
                // The tokens carry the KDC's time, which is that of the server.
                #expect(try await accepted() == "alice@EXAMPLE.TEST")
                try clock.move(to: "+0s")
                for _ in 1...2 { #expect(try await accepted() == "alice@EXAMPLE.TEST") }
            }
        }
    }
}
