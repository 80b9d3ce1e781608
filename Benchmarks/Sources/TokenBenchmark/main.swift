import CFloor
import Foundation
import HTTPNegotiate
import Kerberos
import KerberosSSO
import KerberosTesting

/// The median of a few rounds, which one interruption does not change.
struct Measurement {
    let name: String
    var rounds: [Double] = []
    var median: Double { rounds.sorted()[rounds.count / 2] }
}

let count = 4000
let clock = ContinuousClock()

func microseconds(_ body: () throws -> Void) rethrows -> Double {
    let time = try clock.measure(body)
    return Double(time.components.attoseconds) / 1e12 / Double(count) + Double(time.components.seconds) * 1e6 / Double(count)
}

nonisolated(nonsending) func microseconds(_ body: @Sendable () async throws -> Void) async rethrows -> Double {
    let start = clock.now
    try await body()
    let time = clock.now - start
    return Double(time.components.attoseconds) / 1e12 / Double(count) + Double(time.components.seconds) * 1e6 / Double(count)
}

try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
    let started = clock.now
    try await withTestRealm(TestRealmOptions(name: "SECOND.TEST", users: ["bob": "secret"], services: ["HTTP/localhost"])) { _ in
        print("one realm with a user, a service and a keytab, until its KDC answers: \(clock.now - started)")
    }
    let text = """
        ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension
        Type: Credential
        Realm: \(realm.name)
        Hosts: [localhost]
        PlainHTTPHosts: [localhost]

        """
    let cache = "FILE:\(realm.directory)/benchmark"
    var settings = SingleSignOn.Settings()
    settings.base = .files([realm.configurationPath])
    settings.defaultCacheName = cache
    let profile = try Profile(data: Data(text.utf8), source: "benchmark")
    let sso = try await SingleSignOn(.inProcess(profile), settings: settings)
    try await sso.signIn("alice", using: .password(Secret("secret")))
    let client = KerberosClient(RealmConfiguration(realm: realm.name, base: .files([realm.configurationPath]), defaultCacheName: cache))
    let ticket = try await client.serviceTicket(
        for: try Principal("HTTP/localhost@\(realm.name)"),
        in: CredentialCacheName(rawValue: cache)
    )
    let credential = try await client.initiatorCredential(for: ticket)
    guard let floor = cfloor_open(cache, ticket.server.description) else { fatalError("the C floor could not be opened") }
    defer { cfloor_close(floor) }
    guard let url = URL(string: "http://localhost/") else { fatalError("not a URL") }
    let request = AuthorizationRequest(url: url)

    var results = [
        Measurement(name: "C loop"), Measurement(name: "synchronous call"), Measurement(name: "through await, decision included"),
        Measurement(name: "decision alone"),
    ]
    for _ in 0..<9 {
        results[0].rounds.append(microseconds { for _ in 0..<count where cfloor_token(floor) == 0 { fatalError("no token") } })
        results[1].rounds.append(
            try microseconds {
                for _ in 0..<count {
                    switch try SPNEGOInitiator.begin(with: credential) {
                    case .proceed(let token, _): precondition(!token.isEmpty)
                    case .established: fatalError("established too early")
                    }
                }
            }
        )
        results[2].rounds.append(
            try await microseconds {
                for _ in 0..<count {
                    guard case .headers = try await sso.beginAuthorization(with: request) else { fatalError("not handled") }
                }
            }
        )
        results[3].rounds.append(
            microseconds { for _ in 0..<count { precondition(sso.decision(for: url).plan != nil) } }
        )
    }
    for result in results {
        print("\(result.name): \(String(format: "%.1f µs, %.2f of the C loop", result.median, result.median / results[0].median))")
    }
}
