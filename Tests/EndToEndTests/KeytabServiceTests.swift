import AsyncHTTPClient
import Foundation
import KerberosSSO
import KerberosTesting
import NIOCore
import NIOHTTP1
import NegotiateAsyncHTTPClient
import Testing

/// A service with a keytab and without an agent, against a real Apache.
@Suite struct KeytabServiceTests {
    @Test(.timeLimit(.minutes(5)))
    func `a service without an agent works through three ticket lifetimes`() async throws {
        let lifetime = Duration.seconds(10)
        let options = TestRealmOptions(users: [:], services: ["app", "HTTP/localhost"], ticketLifetime: lifetime)
        try await withTestRealm(options) { realm in
            try await withProtectedWebServer(realm: realm) { server in
                let host = try HostRule("localhost")
                let extensions = KerberosExtension(
                    .init(
                        configurations: [ExtensionConfiguration(realm: realm.name, hosts: [host], plainHTTPHosts: [host])],
                        credential: .keytab(.keytab(try await realm.keytab(for: "app")), principal: nil),
                        base: .files([realm.configurationPath])
                    )
                )
                let clock = ContinuousClock()
                let start = clock.now
                var (greetings, signIns) = (0, 0)
                try await NegotiatingHTTPClient.withClient(extension: extensions) { http in
                    while clock.now < start + lifetime * 3.2 || signIns < 3 {
                        let request = HTTPClientRequest(url: "\(server.url)/hello")
                        let response = try await http.execute(request, timeout: .seconds(120))
                        #expect(response.status == .ok)
                        #expect(String(buffer: try await response.body.collect(upTo: 1024)) == "Hello app@\(realm.name)\n")
                        greetings += 1
                        signIns = try realm.log().split(separator: "\n").count {
                            $0.contains("AS_REQ") && $0.contains("ISSUE") && $0.contains("app@")
                        }
                        try await clock.sleep(for: .milliseconds(100))  // simulates a service at work; nothing is awaited
                    }
                }
                #expect(greetings > 3)  // the number depends on the machine
                // The service signs in when two thirds of a lifetime have passed, not with every request.
                let most = Int((clock.now - start) / (lifetime * 2 / 3)) + 2
                #expect(signIns <= most, "\(signIns) sign-ins in \(clock.now - start)")
            }
        }
    }
}
