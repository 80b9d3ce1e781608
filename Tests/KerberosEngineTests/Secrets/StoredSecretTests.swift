import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

private let realmOptions = TestRealmOptions(services: ["HTTP/www.example.test"], acceptsPasswordChanges: true)

/// Sign-ins with a stored password, at a real KDC.
@Suite(.testRealm(realmOptions)) struct StoredSecretTests {
    private let host = "www.example.test"
    private let realm: TestRealm

    init() throws { realm = try #require(TestRealm.current) }

    private func newUser() async throws -> (name: String, principal: String) {
        let name = try await realm.newUser("+requires_preauth")
        return (name, "\(name)@\(realm.name)")
    }

    private func home(_ user: String, _ store: MemorySecretStore, rules: SignInRules = .init()) throws -> CacheHome {
        var configuration = ExtensionConfiguration(realm: realm.name, hosts: [try HostRule(".example.test")], principalName: user)
        configuration.signIn = rules
        var home = try CacheHome(realm, configurations: [configuration])
        home.options.secretStore = store
        return home
    }

    @Test func `a request signs in with the stored password`() async throws {
        let user = try await newUser()
        let kerberos = try home(user.name, MemorySecretStore([user.principal: "secret"])).makeExtension()
        #expect(try await kerberos.grant(host).principal == user.principal)
        let sessions = try await kerberos.sessions().sessions
        #expect(sessions.map(\.acquiredBy) == [.storedSecret] && sessions.map(\.isDefault) == [true])
    }

    /// The KDC counts every attempt, so concurrent and repeated requests must not send the password again.
    @Test(arguments: [false, true])
    func `a wrong stored password is sent once and removed`(isReadOnly: Bool) async throws {
        let user = try await newUser()
        let store = try MemorySecretStore([user.principal: "wrong"], isReadOnly: isReadOnly)
        let kerberos = try home(user.name, store).makeExtension()
        await withTaskGroup { group in
            for _ in 0..<10 {
                group.addTask {
                    let error = await authorizationError { try await kerberos.grant(host) }
                    #expect(error != nil)
                }
            }
        }
        _ = await authorizationError { try await kerberos.grant(host) }
        #expect(try await realm.failedAttempts(of: user.name) == 1)
        #expect(store.principals == (isReadOnly ? [user.principal] : []))
    }

    @Test func `a cancelled request causes no second attempt with the stored password`() async throws {
        let user = try await newUser()
        let kerberos = try home(user.name, MemorySecretStore([user.principal: "wrong"])).makeExtension()
        for _ in 0..<5 {
            let task = Task { try await kerberos.grant(host) }
            task.cancel()
            _ = try? await task.value
        }
        _ = try? await kerberos.grant(host)
        #expect(try await realm.failedAttempts(of: user.name) == 1)
    }

    @Test func `a wrong stored password leads to a prompt if the request allows one`() async throws {
        let user = try await newUser()
        let store = try MemorySecretStore([user.principal: "wrong"])
        var home = try home(user.name, store)
        let prompter = CountingPrompter(answer: "secret")
        home.options.prompter = prompter
        let kerberos = home.makeExtension()
        #expect(try await kerberos.grant(host, mayAsk: true).principal == user.principal)
        #expect(prompter.count == 1 && store.principals == [])
        #expect(try await kerberos.sessions().sessions.map(\.acquiredBy) == [.password])
    }

    @Test func `an expired stored password is removed`() async throws {
        let user = try await newUser()
        _ = try await realm.kadmin(["modprinc", "+needchange", user.name])
        let store = try MemorySecretStore([user.principal: "secret"])
        let kerberos = try home(user.name, store).makeExtension()
        for _ in 0..<2 { _ = await authorizationError { try await kerberos.grant(host) } }
        #expect(store.principals == [])
    }

    @Test func `a wrong stored password is reported with its store`() async throws {
        let user = try await newUser()
        let kerberos = try home(user.name, MemorySecretStore([user.principal: "wrong"])).makeExtension()
        let error = await authorizationError { try await kerberos.grant(host) }
        let words = "the password stored in the test's memory is wrong (preauthentication failed), and was removed."
        #expect(error.map { "\($0)" }?.contains(words) == true, "\(String(describing: error))")
    }

    @Test(arguments: [SignInRules(allowsAutomaticLogin: false), SignInRules(allowsPassword: false)])
    func `no password is stored or used if the profile forbids it`(_ rules: SignInRules) async throws {
        let user = try await newUser()
        let store = try MemorySecretStore([user.principal: "secret"])
        let kerberos = try home(user.name, store, rules: rules).makeExtension()
        #expect(await authorizationError { try await kerberos.grant(host) }?.code == .notSignedIn)
        #expect(store.principals == [] && store.lookUps == 0)
        let error = await kerberosError { _ = try await kerberos.signInRemembering(user.name, using: .secret) }
        #expect(error?.code == .policyRefused)
        #expect(error?.message.contains(rules.allowsPassword ? "allowAutomaticLogin" : "allowPassword") == true)
        #expect(try realm.received(.initialTicket, client: user.name) == 0)
    }

    @Test func `a sign-out removes the stored password`() async throws {
        let user = try await newUser()
        let store = MemorySecretStore()
        let kerberos = try home(user.name, store).makeExtension()
        let remembered = try await kerberos.signInRemembering(user.name, using: .secret)
        #expect(remembered.place == "in the test's memory" && remembered.session.acquiredBy == .storedSecret)
        #expect(store.principals == [user.principal])
        let result = try await kerberos.signOut()
        #expect(result.ended.count == 1 && result.forgotten.map(\.description) == [user.principal])
        #expect(await authorizationError { try await kerberos.grant(host) }?.code == .notSignedIn)
        // The password of a session that has already ended is removed as well.
        _ = try await store.store(Secret("secret"), for: Principal(user.principal))
        #expect(try await kerberos.signOut().forgotten.map(\.description) == [user.principal])
        #expect(store.principals == [])
    }

    @Test func `a wrong password is not stored`() async throws {
        let user = try await newUser()
        let store = MemorySecretStore()
        let kerberos = try home(user.name, store).makeExtension()
        let error = await kerberosError { _ = try await kerberos.signInRemembering(user.name, using: .password(Secret("wrong"))) }
        #expect(error?.code == .wrongPassword && store.principals == [])
    }

    @Test func `a password from a prompt is stored`() async throws {
        let user = try await newUser()
        let store = MemorySecretStore()
        let kerberos = try home(user.name, store).makeExtension()
        let source = InitialCredentialSource.prompter(CountingPrompter(answer: "secret"))
        _ = try await kerberos.signInRemembering(user.name, using: source)
        #expect(try await store.secret(for: Principal(user.principal)) == Secret("secret"))
    }

    @Test func `a password change updates a stored password only`() async throws {
        let user = try await newUser()
        let store = MemorySecretStore()
        let kerberos = try home(user.name, store).makeExtension()
        _ = try await kerberos.signInRemembering(user.name, using: .secret)
        try await kerberos.changePassword(of: user.name, from: Secret("secret"), to: Secret("Fresh 1"))
        #expect(try await store.secret(for: Principal(user.principal)) == Secret("Fresh 1"))
        let other = try await newUser()
        try await kerberos.changePassword(of: other.name, from: Secret("secret"), to: Secret("Fresh 1"))
        #expect(store.principals == [user.principal], "a password that was not stored before is still not stored")
    }

    @Test func `a refresh with a stored password reacquires a ticket that is not renewable`() async throws {
        let user = try await newUser()
        let kerberos = try home(user.name, MemorySecretStore()).makeExtension()
        let options = InitialCredentialOptions(lifetime: .seconds(3600))
        let session = try await kerberos.signInRemembering(user.name, using: .secret, options: options).session
        _ = try await kerberos.grant(host)
        #expect(session.renewUntil == nil)
        let before = try realm.issued(.initialTicket, client: user.name)
        let after = try await kerberos.refresh(session)
        #expect(try realm.issued(.initialTicket, client: user.name) == before + 1)
        #expect(after.acquiredBy == .storedSecret && after.isSignedIn && after.services.count == 1)
    }

    @Test func `a refresh with a stored password renews a renewable ticket`() async throws {
        let user = try await newUser()
        let kerberos = try home(user.name, MemorySecretStore()).makeExtension()
        let options = InitialCredentialOptions(lifetime: .seconds(3600), renewableLifetime: .seconds(7200))
        let session = try await kerberos.signInRemembering(user.name, using: .secret, options: options).session
        let before = try realm.received(.initialTicket, client: user.name)
        #expect(try await kerberos.refresh(session).isSignedIn)
        #expect(try realm.received(.initialTicket, client: user.name) == before)
    }

    /// The session becomes an ordinary password session, so that the refresh is not retried again and again.
    @Test(arguments: [false, true])
    func `a refresh without a correct stored password fails once`(isWrong: Bool) async throws {
        let user = try await newUser()
        let store = MemorySecretStore()
        let kerberos = try home(user.name, store).makeExtension()
        let options = InitialCredentialOptions(lifetime: .seconds(3600))
        let session = try await kerberos.signInRemembering(user.name, using: .secret, options: options).session
        _ = try await store.remove(session.principal)
        if isWrong { _ = try await store.store(Secret("wrong"), for: session.principal) }
        let error = await kerberosError { try await kerberos.refresh(session) }
        #expect(error?.code == (isWrong ? .wrongPassword : .notInteractive))
        #expect(try await kerberos.sessions().sessions.map(\.acquiredBy) == [.password])
        #expect(try await realm.failedAttempts(of: user.name) == (isWrong ? 1 : 0) && store.principals == [])
    }

    @Test func `a session destroyed by kdestroy is not reacquired`() async throws {
        let user = try await newUser()
        let home = try home(user.name, MemorySecretStore())
        let kerberos = home.makeExtension()
        let session = try await kerberos.signInRemembering(user.name, using: .secret).session
        _ = try await home.run("kdestroy", [])
        #expect(await kerberosError { try await kerberos.refresh(session) }?.code == .noCredentials)
        #expect(try await kerberos.sessions().sessions.isEmpty)
    }
}
