import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TLSChannelBinding
import TestSupport
import Testing

/// Replays of a token that an eavesdropper captured on plain http, at the https port of the same service.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"])) struct ReplayTests {
    let station: Workstation
    let identity: ServerIdentity
    let bindings: ChannelBindings

    init() async throws {
        station = try Workstation()
        try station.install(profile())
        try await station.signIn()
        identity = try await station.realm.makeServerIdentity()
        let text = try String(contentsOfFile: identity.certificatePath, encoding: .utf8)
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("-----") }
        let certificate = try #require(Data(base64Encoded: lines.joined()))
        bindings = ChannelBindings(applicationData: try TLSServerEndPoint(certificate: Array(certificate)).applicationData)
    }

    @Test func `a token captured on plain HTTP is refused over HTTPS`() async throws {
        let challenge = ScriptedServer.Reply.closing(401, [("WWW-Authenticate", "Negotiate")])
        let heads = try await ScriptedServer.run({ _ in challenge }) { server in
            _ = try await station.ksso("fetch", "http://localhost:\(server.port)/")
            return server.heads
        }
        let field = try #require(heads.last?.firstMatch(of: /Authorization: Negotiate [A-Za-z0-9+\/=]+/)).output
        func replay(_ policy: AcceptorServerOptions.BindingPolicy) async throws -> (page: String, request: AcceptorServer.Request) {
            try await withAcceptorServer(realm: station.realm, .init(identity: identity, channelBindings: policy)) { server in
                let arguments = ["-sS", "--max-time", "120", "--cacert", identity.certificatePath, "-H", "@-", server.url]
                let result = try await station.run(["curl"] + arguments, input: "\(field)\n")
                return (result.output, try #require(server.requests.last))
            }
        }
        let refused = try await replay(.compared(bindings))
        #expect(refused.page == "who are you?\n")
        #expect(refused.request.refusal?.code == .channelBindingsDiffer)

        // Without the comparison of channel bindings the token is accepted, so nothing else is wrong with it.
        let accepted = try await replay(.none)
        #expect(accepted.page == "Hello alice@EXAMPLE.TEST\n")
        #expect(!accepted.request.flags.contains(.channelBound))
    }

    @Test(.enabled(if: OwnAuthorities.arePossible, "this machine allows no mount namespaces"))
    func `a token with matching channel bindings is accepted over HTTPS`() async throws {
        try await withAcceptorServer(realm: station.realm, .init(identity: identity, channelBindings: .compared(bindings))) { server in
            let command = OwnAuthorities.command(trusting: identity.certificatePath, ["ksso", "fetch", server.url])
            let result = try await station.run(command)
            #expect(result == .done("Hello alice@EXAMPLE.TEST\n"))
            #expect(server.requests.last?.flags.contains(.channelBound) == true)
        }
    }
}
