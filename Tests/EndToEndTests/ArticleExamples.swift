import AsyncHTTPClient
import Foundation
import HTTPTypes
import KerberosSSO
import KerberosTesting
import KerberosTestingTraits
import NIOCore
import NIOHTTP1
import NegotiateAsyncHTTPClient
import Testing

// The code of the guides in KerberosSSO.docc, so that the compiler checks it. ArticleTests compares the lines, and runs what needs neither
// a terminal nor the machine's own profiles.

// MARK: CommandLineTool

struct ReportError: Error, CustomStringConvertible { let description: String }

func report(from url: String) async throws -> String {
    let sso = try await SingleSignOn(.automatic)
    try await sso.signInIfNeeded(prompt: .terminal, validFor: .seconds(900))
    return try await NegotiatingHTTPClient.withClient(extension: sso) { http in
        let reply = try await http.execute(HTTPClientRequest(url: url), timeout: .seconds(30))
        guard reply.status == .ok else { throw ReportError(description: "\(url): \(reply.status). To find the reason: ksso doctor \(url)") }
        return String(buffer: try await reply.body.collect(upTo: 1 << 20))
    }
}

func commandLineTool() async {
    do {
        print(try await report(from: "https://intranet.corp.example/report"))
    } catch let error as KerberosError where error.code == .canceled {
        exit(130)  // Ctrl-C at the prompt
    } catch {
        FileHandle.standardError.write(Data("report: \(error)\n".utf8))
        exit(1)
    }
}

func severalPrincipals(_ sso: SingleSignOn) async throws -> NegotiatingHTTPClient {
    try await sso.signInIfNeeded("alice/admin", prompt: .terminal)
    var configuration = NegotiatingHTTPClient.Configuration()
    configuration.negotiation.principal = "alice/admin"
    let http = NegotiatingHTTPClient(extension: sso, configuration: configuration)
    return http
}

func sessionsOfAlice(_ sso: SingleSignOn) async throws {
    for session in try await sso.sessions().sessions { print(session.principal, session.ticketExpires) }
    try await sso.changePassword(of: "alice", prompt: .terminal)
    try await sso.signOut("alice")
    for warning in sso.warnings { print(warning) }
}

func toolWithoutPrompts(_ url: URL) async throws -> String {
    let sso = try await SingleSignOn(.automatic)
    let header = try await sso.authorizationHeader(for: url)
    return header
}

// MARK: KerberosSSO

func status(of url: URL, _ sso: SingleSignOn, send: (HTTPFields) async throws -> (status: Int, challenges: [String])) async throws -> Int {
    let first = try await send([:])
    guard case .answer(let plan) = sso.decision(for: url) else { return first.status }  // no rule covers the URL
    var exchange = NegotiateExchange(mutualAuthentication: plan.mutualAuthentication)
    guard case .begin = exchange.receive(status: first.status, challenges: first.challenges),
        case .headers(let grant) = try await sso.beginAuthorization(with: AuthorizationRequest(url: url))
    else { return first.status }  // not challenged, or the profile has changed
    let response = try await send(grant.headers)
    exchange.sent()
    var action = exchange.receive(status: response.status, challenges: response.challenges)
    switch action {
    case .verify(let token), .respond(let token):
        do {
            if case .established = try await grant.exchange.respond(to: token) { action = exchange.verified() }
        } catch {
            switch error.code {
            // An error only if the profile requires the proof.
            case .mutualAuthenticationFailed: action = exchange.unproven(status: response.status)
            // The token says why the ticket is refused.
            case .refusedByServer where response.status == 401: return response.status
            default: throw error
            }
        }
    case .begin, .deliver, .fail: break
    }
    switch action {
    case .deliver: return response.status
    case .fail(let error): throw error  // such as a response without a final token
    case .begin, .respond, .verify: throw AuthorizationError(.tooManyLegs, "\(url) requests another token, which Kerberos never needs.")
    }
}

// MARK: Service

func service() async throws -> NegotiatingHTTPClient {
    // If the machine's policy requires signed profiles, an unsigned one is refused.
    let profile = try await Profile.load("/etc/app/corp.mobileconfig")
    let sso = try await SingleSignOn(.inProcess(profile, credential: .keytab("/etc/app.keytab", principal: "app@CORP.EXAMPLE")))
    let http = NegotiatingHTTPClient(extension: sso)
    return http
}

func serviceProfile() throws -> Profile {
    let profile = try Profile(realm: "CORP.EXAMPLE", hosts: [".corp.example", "corp.example"])
    return profile
}

func checkSignIn(_ sso: SingleSignOn, to url: URL) async throws {
    guard let identity = try await sso.identity(for: AuthorizationRequest(url: url)) else {
        throw AuthorizationError(.notHandled, "No rule of the profile covers \(url). Add its host to Hosts.")
    }
    print("requests to \(url) use the ticket of \(identity.principal) for \(identity.servicePrincipal)")
}

func page(_ url: String, _ http: NegotiatingHTTPClient) async throws -> String? {
    do {
        let reply = try await http.execute(HTTPClientRequest(url: url), timeout: .seconds(30))
        guard reply.status == .ok else { throw AuthorizationError(.failed, "\(url): \(reply.status)") }
        return String(buffer: try await reply.body.collect(upTo: 1 << 20))
    } catch let error as AuthorizationError where [.kdcUnreachable, .busy, .timedOut].contains(error.code) {
        return nil  // try again later
    } catch let error as HTTPTransportError where [.connectionRefused, .connectionClosed, .timedOut].contains(error.code) {
        return nil  // the server is restarting, or the network fails
    }
}

// MARK: BehindNginx

struct TicketCheck {
    let credential: AcceptorCredential

    /// The principal that sent a request, and the value of the response's field WWW-Authenticate, which proves the server's identity.
    /// Nil without a ticket: respond with 401 and `WWW-Authenticate: Negotiate`.
    func user(_ authorization: String?) async throws(KerberosError) -> (principal: String, proof: String?)? {
        guard let authorization, authorization.lowercased().hasPrefix("negotiate "),
            let token = Data(base64Encoded: String(authorization.dropFirst("negotiate ".count)))
        else { return nil }
        switch try await credential.accept(Array(token)) {
        case .established(let proof, let context):
            return (context.initiator, proof.map { "Negotiate " + Data($0).base64EncodedString() })
        case .proceed:
            return nil  // Kerberos needs one token only
        }
    }
}

func acceptBound(_ token: [UInt8], _ credential: AcceptorCredential, hash: [UInt8]) async throws -> AcceptorStep {
    let bindings = ChannelBindings(applicationData: Array("tls-server-end-point:".utf8) + hash)
    let step = try await credential.accept(token, channelBindings: bindings)
    return step
}

// MARK: TestingWithKDC

@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost", "app"], scope: .test))
struct GreetingTests {
    @Test func `alice is greeted`() async throws {
        let realm = try #require(TestRealm.current)
        let profile = try Profile(realm: realm.name, hosts: ["localhost"], plainHTTPHosts: ["localhost"])
        let sso = try await SingleSignOn(.inProcess(profile), environment: realm.environment)
        try await sso.signIn("alice", using: .password(Secret("secret")))
        try await withProtectedWebServer(realm: realm) { server in
            try await NegotiatingHTTPClient.withClient(extension: sso) { http in
                let reply = try await http.execute(HTTPClientRequest(url: "\(server.url)/hello"))
                #expect(reply.status == .ok)
            }
        }
    }
}

func secondCache(_ realm: TestRealm, _ profile: Profile) async throws -> SingleSignOn {
    var environment = realm.environment
    environment["KRB5CCNAME"] = "FILE:\(realm.directory)/bob"
    environment["KSSO_RUNTIME_DIR"] = "\(realm.directory)/bob-runtime"
    let bob = try await SingleSignOn(.inProcess(profile), environment: environment)
    return bob
}

func testedService(_ realm: TestRealm, _ profile: Profile) async throws -> SingleSignOn {
    let credential = SingleSignOn.ServiceCredential.keytab(realm.keytabPath, principal: "app")
    let service = try await SingleSignOn(.inProcess(profile, credential: credential), environment: realm.environment)
    return service
}

func expiredPassword(_ realm: TestRealm, _ sso: SingleSignOn) async throws {
    try await realm.expirePassword(of: "alice")
    let error = await #expect(throws: KerberosError.self) { try await sso.signIn("alice", using: .password(Secret("secret"))) }
    #expect(error?.code == .passwordExpired)
}

@Test(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"], scope: .test))
func `a server accepts the ticket of alice`() async throws {
    let realm = try #require(TestRealm.current)
    let sso = try await SingleSignOn(.inProcess(try Profile(realm: realm.name, hosts: ["localhost"])), environment: realm.environment)
    try await sso.signIn("alice", using: .password(Secret("secret")))
    let field = try await sso.authorizationHeader(for: try #require(URL(string: "https://localhost/")))
    let server = TicketCheck(credential: try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled))
    #expect(try await server.user(field)?.principal == "alice@\(realm.name)")
}

// MARK: Errors

func catchOneType(_ sso: SingleSignOn) async {
    do {
        try await sso.signInIfNeeded("alice", prompt: .terminal)
    } catch  where error.code == .canceled {
        print("canceled")
    } catch {
        print(error)
    }
}

func switchOverCodes(_ sso: SingleSignOn) async {
    do {
        try await sso.signInIfNeeded("alice", prompt: .terminal)
    } catch {
        switch error.code {
        case .canceled: print("canceled")
        case .wrongPassword, .passwordExpired: print("sign in with: ksso login")
        default: print(error)
        }
    }
}

func catchSeveralTypes(_ http: NegotiatingHTTPClient) async {
    do {
        let reply = try await http.execute(HTTPClientRequest(url: "https://intranet.corp.example/"), timeout: .seconds(30))
        print(reply.status)
    } catch let error as AuthorizationError where error.code == .notSignedIn {
        print("sign in with: ksso login")
    } catch let error as AuthorizationError {
        print(error)
        if let cause = error.cause as? KerberosError { print("\(cause.libraryMessage) (\(cause.libraryCode))") }
    } catch let error as HTTPTransportError where [.connectionRefused, .connectionClosed, .timedOut].contains(error.code) {
        print("try again later: \(error)")
    } catch {
        print(error)
    }
}
