import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The login, refresh and logout operations of the extension, and their replies.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"])) struct OperationTests {
    let home: CacheHome
    private let url = URL(string: "https://www.example.test/")

    init() throws { home = try CacheHome(try #require(TestRealm.current)) }

    /// The reply of an operation that must be completed.
    private func reply(
        _ kerberos: KerberosExtension,
        _ operation: AuthorizationOperation,
        mayAsk: Bool = false
    ) async throws -> AuthorizationReply? {
        let request = AuthorizationRequest(url: try #require(url), operation: operation, isUserInterfaceEnabled: mayAsk)
        guard case .completed(let reply) = try await kerberos.beginAuthorization(with: request) else {
            throw AuthorizationError(.notHandled, "\(operation) was not completed.")
        }
        return reply
    }

    @Test func `login and refresh reply with the session, logout replies with nothing`() async throws {
        let user = "user\(UUID().uuidString.prefix(8))"
        try await home.realm.addUser(user, password: "secret", flags: ["-pwexpire \"30 days\""])
        let kerberos = home.makeExtension()
        let options = InitialCredentialOptions(lifetime: .seconds(3600), renewableLifetime: .seconds(7200))
        let session = try await kerberos.signIn(user, using: .secret, options: options)
        let login = try #require(try await reply(kerberos, .login))
        #expect(login.userPrincipalName == "\(user)@EXAMPLE.TEST" && login.realm == "EXAMPLE.TEST")
        #expect(login.cache == session.cache.rawValue)
        #expect(login.ticketExpires == session.ticketExpires)
        #expect(login.renewUntil == session.renewUntil)
        #expect(login.renewUntil != nil && login.passwordExpires != nil && login.passwordExpires == session.passwordExpires)
        let refreshed = try #require(try await reply(kerberos, .refresh))
        #expect(refreshed.userPrincipalName == login.userPrincipalName && refreshed.cache == login.cache)
        let after = try #require(try await kerberos.sessions().sessions.first)
        #expect(refreshed.ticketExpires == after.ticketExpires)
        #expect(try await reply(kerberos, .logout) == nil)
        #expect(try await kerberos.sessions().sessions.isEmpty)
    }

    @Test func `a reply omits unknown times`() async throws {
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret, options: .init(lifetime: .seconds(3600)))
        let login = try #require(try await reply(kerberos, .login))
        #expect(login.renewUntil == nil && login.passwordExpires == nil)
    }

    /// The KDC's clock may differ.
    @Test func `a reply's times use this machine's clock`() async throws {
        try await withTestRealm(
            TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/www.example.test"], clockOffset: .seconds(-7200))
        ) { realm in
            let kerberos = try CacheHome(realm).makeExtension()
            let session = try await kerberos.signIn("alice", using: .secret, options: .init(lifetime: .seconds(3600)))
            let login = try #require(try await reply(kerberos, .login))
            #expect(session.clockOffset < -7000)
            #expect(login.ticketExpires == session.ticketExpires)
            #expect(abs(login.ticketExpires.timeIntervalSinceNow - 3600) < 60)
        }
    }

    @Test(arguments: [AuthorizationOperation.login, .refresh, .logout])
    func `without a session every operation fails with not-signed-in`(operation: AuthorizationOperation) async throws {
        let error = await authorizationError { try await reply(home.makeExtension(), operation) }
        #expect(error?.code == .notSignedIn)
    }

    @Test func `a sign-out without a session does not sign in first`() async throws {
        let user = "user\(UUID().uuidString.prefix(8))"
        try await home.realm.addUser(user, password: "secret")
        var home = home
        home.options.clientKeytabName = try await home.realm.keytab(for: user)
        home.options.configurations[0].principalName = user
        let kerberos = home.makeExtension()
        #expect(await authorizationError { try await reply(kerberos, .logout) }?.code == .notSignedIn)
        #expect(try home.realm.received(.initialTicket, client: user) == 0)
        // The next request signs in with the keytab, as before.
        #expect(try await reply(kerberos, .login)?.userPrincipalName == "\(user)@EXAMPLE.TEST")
        #expect(try await reply(kerberos, .logout) == nil)
        #expect(try await kerberos.sessions().sessions.isEmpty)
    }

    @Test func `only a login that allows prompts asks for a password`() async throws {
        var home = home
        let prompter = CountingPrompter(answer: "secret")
        home.options.prompter = prompter
        home.options.userName = "alice"
        let kerberos = home.makeExtension()
        for operation in [AuthorizationOperation.login, .refresh] {
            #expect(await authorizationError { try await reply(kerberos, operation) }?.code == .notSignedIn)
        }
        #expect(await authorizationError { try await reply(kerberos, .refresh, mayAsk: true) }?.code == .notSignedIn)
        #expect(prompter.count == 0)
        #expect(try await reply(kerberos, .login, mayAsk: true)?.userPrincipalName == "alice@EXAMPLE.TEST")
        #expect(prompter.count == 1)
    }

    @Test(arguments: [false, true]) func `a ticket that needs a password is not refreshed`(mayAsk: Bool) async throws {
        var home = home
        let prompter = CountingPrompter(answer: "secret")
        home.options.prompter = prompter
        let kerberos = home.makeExtension()
        // The KDC issues a renewable ticket without a request for one if it cannot grant the requested lifetime.
        try await kerberos.signIn("alice", using: .secret, options: .init(lifetime: .seconds(3600)))
        #expect(await authorizationError { try await reply(kerberos, .refresh, mayAsk: mayAsk) }?.code == .notInteractive)
        #expect(prompter.count == 0)
    }

    @Test func `an unknown operation is not handled`() async throws {
        let request = AuthorizationRequest(url: try #require(url), operation: .init(rawValue: "unheard-of"))
        guard case .notHandled(let reasons) = try await home.makeExtension().beginAuthorization(with: request) else {
            Issue.record("the operation was handled")
            return
        }
        #expect(reasons.map(\.rule) == ["operation"])
    }

    /// A custom extension adds an operation to those of `KerberosExtension`.
    @Test func `a custom extension handles its own operation`() async throws {
        struct Greeting: CredentialExtension {
            static let operation = AuthorizationOperation(rawValue: "greet")
            let base: KerberosExtension

            func decision(for url: URL) -> AuthorizationDecision { base.decision(for: url) }

            func beginAuthorization(with request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationOutcome {
                guard request.operation == Self.operation else { return try await base.beginAuthorization(with: request) }
                let user = request.options["user"] ?? ""
                return .completed(.init(userPrincipalName: user, realm: "", ticketExpires: .distantFuture, cache: ""))
            }
        }
        let greeting = Greeting(base: home.makeExtension())
        try await greeting.base.signIn("alice", using: .secret)
        let url = try #require(url)
        let own = AuthorizationRequest(url: url, operation: Greeting.operation, options: ["user": "bob"])
        guard case .completed(let reply) = try await greeting.beginAuthorization(with: own) else {
            Issue.record("the extension's own operation was not completed")
            return
        }
        #expect(reply?.userPrincipalName == "bob")
        guard case .headers = try await greeting.beginAuthorization(with: .init(url: url)) else {
            Issue.record("a challenge was not answered")
            return
        }
    }
}
