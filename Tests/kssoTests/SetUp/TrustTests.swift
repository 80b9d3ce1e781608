import Foundation
import KerberosTesting
import KerberosTestingTraits
import SignOnDiagnosis
import TestSupport
import Testing

/// https servers whose authority the machine does not trust: `--cacert`, `SSL_CERT_FILE` and `KSSO_REALM_CERTIFICATE`.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]), .timeLimit(.minutes(5)))
struct TrustTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install(profile())
    }

    /// The option and the variables that give a file of authorities.
    private static let ways = ["--cacert", "SSL_CERT_FILE", "KSSO_REALM_CERTIFICATE"]

    private func ksso(_ command: String, trusting file: String, by way: String, _ words: String...) async throws -> CommandResult {
        let isOption = way.hasPrefix("--")
        return try await station.run(
            ["ksso", command] + (isOption ? [way, file] : []) + words,
            environment: isOption ? [:] : [way: file]
        )
    }

    @Test(arguments: ways) func `ksso fetch and doctor trust the authorities in a given file`(way: String) async throws {
        try await station.signIn()
        try await withProtectedWebServer(realm: station.realm, .init(usesTLS: true)) { web in
            let page = try await ksso("fetch", trusting: web.certificatePath, by: way, "\(web.url)/hello")
            #expect(page == .done("Hello alice@EXAMPLE.TEST\n"))
            let doctor = try await ksso("doctor", trusting: web.certificatePath, by: way, "--json", "\(web.url)/hello")
            let diagnosis = try JSONDecoder().decode(Diagnosis.self, from: Data(doctor.output.utf8))
            #expect(diagnosis.checks.first { $0.name == "mutualAuthentication" }?.verdict == .ok, "\(diagnosis)")
        }
    }

    /// The servers need no option, and an option with another authority does not replace the authority of the realm.
    @Test func `inside ksso realm run the web servers of the realm are trusted`() async throws {
        let other = try await station.realm.makeServerIdentity(host: "other.test").certificatePath
        let plan = try station.write(
            """
            realms:
              - {name: A.TEST, users: {alice: secret}}
            web:
              - {server: apache, tls: true}
            """,
            to: "realm.yaml"
        )
        let script = """
            echo secret | ksso login alice --password-stdin -q
            ksso fetch "$KSSO_REALM_URL/hello"
            ksso fetch --cacert '\(other)' "$KSSO_REALM_URL/hello"
            """
        // The realm provides the profile.
        let result = try await RealmFolder().run(["--file", plan], script: script, on: station)
        #expect(result == .done("Hello alice@A.TEST\nHello alice@A.TEST\n"))
    }

    /// The server refuses a token that is not bound to its certificate.
    @Test func `a token is bound to the TLS channel of a server in --cacert`() async throws {
        try await station.signIn()
        let identity = try await station.realm.makeServerIdentity(host: "localhost")
        let options = AcceptorServerOptions(identity: identity, channelBindings: .required(try identity.channelBindings()))
        try await withAcceptorServer(realm: station.realm, options) { server in
            let page = try await ksso("fetch", trusting: identity.certificatePath, by: "--cacert", "\(server.url)/")
            #expect(page == .done("Hello alice@EXAMPLE.TEST\n"))
        }
    }

    /// The file replaces the machine's authorities, and the option replaces the variable.
    @Test func `a server of another authority is not trusted, and the remedy is printed`() async throws {
        let other = try await station.realm.makeServerIdentity(host: "other.test").certificatePath
        try await withProtectedWebServer(realm: station.realm, .init(usesTLS: true)) { web in
            let variables = ["SSL_CERT_FILE": web.certificatePath]
            let page = try await station.ksso("fetch", "--cacert", other, "\(web.url)/hello", environment: variables)
            #expect(page.exitStatus == 1 && page.errors.hasSuffix("To trust another authority, use: --cacert FILE\n"), "\(page)")
            let diagnosis = try await station.doctor("\(web.url)/hello")
            let challenge = diagnosis.checks.first { $0.name == "challenge" }
            #expect(challenge?.verdict == .failed && challenge?.remedy?.contains("--cacert FILE") == true, "\(diagnosis)")
        }
    }

    @Test(arguments: ways) func `a missing or empty file of authorities is reported`(way: String) async throws {
        let missing = "\(station.directory)/none.pem"
        let empty = try station.write("no certificate\n", to: "empty.pem")
        for command in ["fetch", "doctor"] {
            let none = try await ksso(command, trusting: missing, by: way, "https://localhost/")
            #expect(none == .failure(1, "\(way): there is no such file: \(missing)"))
            let unusable = try await ksso(command, trusting: empty, by: way, "https://localhost/")
            #expect(
                unusable
                    == .failure(1, "\(way): \(empty) contains no certificate. It must be a PEM file with a BEGIN CERTIFICATE line.")
            )
        }
    }
}
