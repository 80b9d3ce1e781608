import Foundation
import KerberosTesting
import TestSupport
import Testing

/// ksso sends no NTLM token, even if GSSAPI has an NTLM mechanism and a password for it.
///
/// Only the child processes register the mechanism.
@Suite(.protectedWeb, .enabled(if: LoadableLibrary.ntlm != nil, "gss-ntlmssp is missing: Scripts/install-packages unpacks it"))
struct NTLMMechanismTests {
    private static let challenge = ScriptedServer.Reply.closing(401, [("WWW-Authenticate", "Negotiate")], body: "no\n")
    private static let signature = Array("NTLMSSP".utf8)
    /// The mechanism of NTLM, 1.3.6.1.4.1.311.2.2.10.
    private static let identifier: [UInt8] = [0x2B, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x02, 0x02, 0x0A]
    /// A list of mechanisms with Kerberos, 1.2.840.113554.1.2.2, as its only entry (RFC 4178 section 4.2.1).
    private static let kerberosAlone: [UInt8] = [
        0xA0, 0x0D, 0x30, 0x0B, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 0x01, 0x02, 0x02,
    ]

    let station: Workstation
    let environment: [String: String]

    init() throws {
        let library = try #require(LoadableLibrary.ntlm)
        station = try Workstation()
        try station.install(profile(hosts: ["localhost", "absent.example.test"]))
        let parents = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"].map { ":\($0)" } ?? ""
        environment = [
            "GSS_MECH_CONFIG": try station.write("gssntlmssp_v1 1.3.6.1.4.1.311.2.2.10 \(library.path)\n", to: "mechanisms"),
            "NTLM_USER_FILE": try station.write("EXAMPLE:alice:secret\n", to: "ntlm"),
            "LD_LIBRARY_PATH": library.folder + parents,
        ]
    }

    @Test func `without a session ksso sends no NTLM token`() async throws {
        try await ScriptedServer.run({ _ in Self.challenge }) { server in
            let url = "http://localhost:\(server.port)/"
            let fetch = try await station.ksso("fetch", url, environment: environment)
            #expect(fetch == .failure(5, "not signed in to EXAMPLE.TEST. Sign in with: ksso login"))
            #expect(try await station.ksso("header", url, environment: environment) == fetch)
            #expect(!server.requests.isEmpty)
            #expect(!server.heads.contains { $0.contains("Authorization") })

            // curl sends an NTLM token, which shows that the mechanism works.
            #expect(try await curl(url, server).contains(Self.signature))
        }
    }

    @Test func `for a service that the KDC does not know ksso sends no NTLM token`() async throws {
        try await station.signIn()
        let result = try await station.ksso("header", "https://absent.example.test/", environment: environment)
        #expect(result.exitStatus == 1)
        #expect(result.output == "")
        #expect(result.errors.contains("the KDC does not know this service."), "\(result.errors)")
    }

    @Test func `with a session ksso offers Kerberos as the only mechanism`() async throws {
        try await station.signIn()
        let page = "\(try #require(WebTrait.server).url)/hello"
        #expect(try await station.ksso("fetch", page, environment: environment) == .done("Hello alice@EXAMPLE.TEST\n"))
        try await ScriptedServer.run({ _ in Self.challenge }) { server in
            let url = "http://localhost:\(server.port)/"
            _ = try await station.ksso("fetch", url, environment: environment)
            let line = try await station.ksso("header", url, environment: environment).output
            for text in [try #require(server.heads.last), line] {
                let token = try #require(text.negotiateToken)
                #expect(token.contains(Self.kerberosAlone))
                #expect(!token.contains(Self.identifier))
                #expect(!token.contains(Self.signature))
            }
            let curlToken = try await curl(url, server)
            #expect(!curlToken.contains(Self.kerberosAlone))
            #expect(curlToken.contains(Self.identifier))
        }
    }

    /// The token that curl sends, with every mechanism that GSSAPI offers.
    private func curl(_ url: String, _ server: ScriptedServer) async throws -> [UInt8] {
        let arguments = ["curl", "-sS", "--max-time", "120", "--negotiate", "-u", ":", url]
        let count = server.requests.count
        _ = try await station.run(arguments, environment: environment)
        return try #require(server.heads.dropFirst(count).compactMap(\.negotiateToken).first)
    }
}

extension String {
    /// The decoded token of an `Authorization: Negotiate` field.
    var negotiateToken: [UInt8]? {
        firstMatch(of: /Authorization: Negotiate ([A-Za-z0-9+\/=]+)/).flatMap { Data(base64Encoded: String($0.1)) }.map { Array($0) }
    }
}
