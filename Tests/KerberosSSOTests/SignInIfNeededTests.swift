import Foundation
import KerberosSSO
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `SingleSignOn.signInIfNeeded`: when it prompts, and when it does not.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"], services: ["app"]))
struct SignInIfNeededTests {
    private let prompter = RecordingPrompter.secret

    /// A user who is bob on this machine, with a profile that names no principal.
    private func makeSSO(
        _ home: ProfileHome,
        principalName: String? = nil
    ) async throws -> SingleSignOn {
        let profile = try Profile(realm: home.realm.name, hosts: ["localhost"], principalName: principalName)
        return try await SingleSignOn(.inProcess(profile), settings: home.settings)
    }

    private func makeHome() throws -> ProfileHome { try ProfileHome(try #require(TestRealm.current)) }

    @Test func `a program that runs twice prompts once`() async throws {
        let home = try makeHome()
        let first = try await makeSSO(home).signInIfNeeded("alice", prompt: prompter)
        let second = try await makeSSO(home).signInIfNeeded("alice", prompt: prompter)
        #expect(first.principal.description == "alice@EXAMPLE.TEST")
        #expect(second.ticketExpires == first.ticketExpires)
        #expect(prompter.requests.count == 1)
    }

    @Test func `a ticket that is not valid long enough is replaced`() async throws {
        let sso = try await makeSSO(try makeHome())
        let short = try await sso.signIn("alice", prompt: prompter, options: .init(lifetime: .seconds(600)))
        #expect(try await sso.signInIfNeeded("alice", prompt: prompter).ticketExpires == short.ticketExpires)
        #expect(prompter.requests.count == 1)
        let long = try await sso.signInIfNeeded("alice", prompt: prompter, validFor: .seconds(3600))
        #expect(long.ticketExpires > short.ticketExpires.addingTimeInterval(3000))
        #expect(prompter.requests.count == 2)
    }

    @Test func `a ticket from a keytab is reacquired without a prompt`() async throws {
        let home = try makeHome()
        let sso = try await makeSSO(home)
        let keytab = try await home.realm.keytab(for: "app")
        let short = try await sso.signIn(using: .keytab(keytab), options: .init(lifetime: .seconds(600)))
        let long = try await sso.signInIfNeeded("app", prompt: prompter, validFor: .seconds(3600))
        #expect(long.principal == short.principal)
        #expect(long.ticketExpires > short.ticketExpires)
        #expect(try await sso.signInIfNeeded(using: .keytab(keytab)).ticketExpires == long.ticketExpires)
        #expect(prompter.requests.isEmpty)
    }

    @Test func `a stored password is used without a prompt`() async throws {
        var home = try makeHome()
        home.settings.secretStore = try MemorySecretStore(["alice@EXAMPLE.TEST": "secret"])
        let session = try await makeSSO(home).signInIfNeeded("alice", prompt: prompter)
        #expect(session.principal.description == "alice@EXAMPLE.TEST")
        #expect(session.acquiredBy == .storedSecret)
        #expect(prompter.requests.isEmpty)
    }

    @Test func `without a name the session of any principal is used`() async throws {
        let home = try makeHome()
        let sso = try await makeSSO(home)
        try await sso.signIn("alice", prompt: prompter)
        #expect(try await sso.signInIfNeeded(prompt: prompter).principal.description == "alice@EXAMPLE.TEST")
        #expect(prompter.requests.count == 1)
    }

    @Test func `without a name and a session the user signs in`() async throws {
        let sso = try await makeSSO(try makeHome())
        #expect(try await sso.signInIfNeeded(prompt: prompter).principal.description == "bob@EXAMPLE.TEST")
        #expect(prompter.requests.count == 1)
    }

    @Test func `the session of another principal does not count if one is named`() async throws {
        let home = try makeHome()
        let sso = try await makeSSO(home)
        try await sso.signIn("alice", prompt: prompter)
        #expect(try await sso.signInIfNeeded("bob", prompt: prompter).principal.description == "bob@EXAMPLE.TEST")
        let configured = try await makeSSO(try makeHome(), principalName: "alice")
        try await configured.signIn("bob", prompt: prompter)
        #expect(try await configured.signInIfNeeded(prompt: prompter).principal.description == "alice@EXAMPLE.TEST")
        #expect(prompter.requests.count == 4)
    }

    @Test func `a wrong password is reported and sent once`() async throws {
        let sso = try await makeSSO(try makeHome())
        let wrong = RecordingPrompter(answer: "wrong")
        let error = await #expect(throws: KerberosError.self) { try await sso.signInIfNeeded("alice", prompt: wrong) }
        #expect(error?.code == .wrongPassword)
        #expect(wrong.requests.count == 1)
    }

    @Test func `while no KDC answers, a valid ticket is used and no prompt is shown`() async throws {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            let sso = try await makeSSO(try ProfileHome(realm))
            let lifetime = InitialCredentialOptions(lifetime: .seconds(600), renewableLifetime: .seconds(3600))
            let session = try await sso.signIn("alice", prompt: prompter, options: lifetime)
            try await realm.stopKDC()
            #expect(try await sso.signInIfNeeded("alice", prompt: prompter).ticketExpires == session.ticketExpires)
            let error = await #expect(throws: KerberosError.self) {
                try await sso.signInIfNeeded("alice", prompt: prompter, validFor: .seconds(1800))
            }
            #expect(error?.code == .kdcUnreachable)
            #expect(prompter.requests.count == 1)
        }
    }
}
