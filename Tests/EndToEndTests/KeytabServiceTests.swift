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
                let end = clock.now + lifetime * 3.2
                var greetings = 0
                try await NegotiatingHTTPClient.withClient(extension: extensions) { http in
                    while clock.now < end {
                        let response = try await http.execute(HTTPClientRequest(url: "\(server.url)/hello"))
                        #expect(response.status == .ok)
                        #expect(String(buffer: try await response.body.collect(upTo: 1024)) == "Hello app@\(realm.name)\n")
                        greetings += 1
                        try await clock.sleep(for: .milliseconds(100))  // simulates a service at work; nothing is awaited
                    }
                }
                let signIns = try realm.log().split(separator: "\n").filter {
                    $0.contains("AS_REQ") && $0.contains("ISSUE") && $0.contains("app@")
                }
                #expect(greetings > 3)  // the number depends on the machine
                #expect((3...8).contains(signIns.count), "\(signIns.count) sign-ins in three lifetimes")
            }
        }
    }
}
