import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The effect of `client_aware_channel_bindings` in the client's krb5.conf if the client sends no bindings and the server has some.
///
/// GSSAPI reads the setting from the files in `KRB5_CONFIG`, which applies to a whole process, so each client is a separate process.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]), .timeLimit(.minutes(15))) struct ClientAwareBindingTests {
    private static let bindings = ChannelBindings(applicationData: Array("tls-server-end-point:one".utf8))

    let realm: TestRealm

    init() throws {
        realm = try TestRealm.required()
    }

    /// curl in Debian 12 sends no bindings. The last column is the reason why the acceptor rejects it.
    @Test(
        arguments: [
            (false, .none, nil), (false, .compared(bindings), nil), (false, .required(bindings), .flagsNotGranted),
            (true, .none, nil), (true, .compared(bindings), .channelBindingsDiffer), (true, .required(bindings), .channelBindingsDiffer),
        ] as [(Bool, AcceptorServerOptions.BindingPolicy, KerberosError.Code?)]
    )
    func `a server with bindings rejects a client without them if they are required or it is aware`(
        isAware: Bool,
        policy: AcceptorServerOptions.BindingPolicy,
        refusal: KerberosError.Code?
    ) async throws {
        let variables = [
            "KRB5_CONFIG": try configuration(isAware: isAware), "KRB5CCNAME": try await realm.signIn().cache.rawValue, "no_proxy": "*",
        ]
        try await withAcceptorServer(realm: realm, .init(channelBindings: policy)) { server in
            let arguments = ["-sS", "--max-time", "120", "--negotiate", "-u", ":", server.url]
            let reply = try await realm.run("curl", arguments, environment: variables)
            #expect(reply.output == (refusal == nil ? "Hello alice@EXAMPLE.TEST\n" : "who are you?\n"), "\(reply.errors)")
            let request = try #require(server.requests.first)
            #expect(request.refusal?.code == refusal)
            #expect(!request.flags.contains(.channelBound))
        }
    }

    @Test(.exitTest, arguments: [false, true]) func `this package's initiator without channel bindings is rejected if it is aware of them`(
        isAware: Bool
    ) async throws {
        let file = realm.newPath()
        let configuration = try configuration(isAware: isAware)
        let cache = try await realm.signIn().cache
        await #expect(processExitsWith: .success) {
            [
                configuration = configuration as String, cache = cache.rawValue as String, settings = realm.configurationPath as String,
                file = file as String
            ] in
            setenv("KRB5_CONFIG", configuration, 1)  // this closure runs in a process of its own
            let client = KerberosClient(RealmConfiguration(realm: "EXAMPLE.TEST", base: .files([settings])))
            let service = try Principal("HTTP/localhost", defaultRealm: "EXAMPLE.TEST")
            let ticket = try await client.serviceTicket(for: service, in: CredentialCacheName(rawValue: cache))
            let token = try firstToken(from: try await client.initiatorCredential(for: ticket))
            try Data(token).write(to: URL(filePath: file))
            endChildProcess()
        }
        let token = try Array(Data(contentsOf: URL(filePath: file)))
        let acceptor = try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled)
        if isAware {
            await expectFailure(.channelBindingsDiffer) { _ = try acceptorEnd(acceptor, token: token, channelBindings: Self.bindings) }
        } else {
            let end = try acceptorEnd(acceptor, token: token, channelBindings: Self.bindings).end
            #expect(!end.flags.contains(.channelBound))
        }
    }

    /// The realm's krb5.conf; for an aware client it is preceded by a file that contains only the setting.
    private func configuration(isAware: Bool) throws -> String {
        guard isAware else { return realm.configurationPath }
        let path = try realm.writeConfiguration("[libdefaults]\n    client_aware_channel_bindings = true\n")
        return "\(path):\(realm.configurationPath)"
    }
}
