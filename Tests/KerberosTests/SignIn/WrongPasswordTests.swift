import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The KDCs in the client's configuration.
enum KDCSetup: String, CaseIterable, Sendable {
    case plain, primaryKDC, masterKDC, sameKDCTwice, severalKDCs, deadKDCFirst, udp
}

/// One account for each case, so that concurrent cases do not change each other's count.
private let accounts = Dictionary(
    uniqueKeysWithValues: (KDCSetup.allCases.map(\.rawValue) + ["prompted", "counted", "control"]).map { ($0, "secret") }
)

/// A wrong password is one failed attempt at the KDC, however many KDCs are configured.
@Suite(.testRealm(users: accounts)) struct WrongPasswordTests {
    @Test(arguments: KDCSetup.allCases)
    func `a wrong password costs one attempt at the KDC`(setup: KDCSetup) async throws {
        let realm = try TestRealm.required()
        let client = KerberosClient(try configuration(setup, realm: realm))
        let error = await expectFailure(.wrongPassword) {
            _ = try await client.initialCredential(for: realm.principal(setup.rawValue), using: .password(Secret("wrong")))
        }
        #expect(error?.message == "the password is wrong (preauthentication failed).")
        #expect(try await realm.failedAttempts(of: setup.rawValue) == 1)
        _ = try await client.initialCredential(for: realm.principal(setup.rawValue), using: .password(Secret("secret")))
        #expect(try await realm.failedAttempts(of: setup.rawValue) == 0)
    }

    @Test func `a wrong password typed at a prompt costs one attempt`() async throws {
        let realm = try TestRealm.required()
        let client = KerberosClient(try configuration(.primaryKDC, realm: realm))
        let prompter = RecordingPrompter { _ in [Secret("wrong")] }
        await expectFailure(.wrongPassword) {
            _ = try await client.initialCredential(for: realm.principal("prompted"), using: .prompter(prompter))
        }
        #expect(prompter.requests.count == 1)
        #expect(try await realm.failedAttempts(of: "prompted") == 1)
    }

    @Test func `each wrong password counts as one attempt`() async throws {
        let realm = try TestRealm.required()
        for count in 1...3 {
            await expectFailure(.wrongPassword) { _ = try await realm.signIn("counted", password: "") }
            #expect(try await realm.failedAttempts(of: "counted") == count)
        }
    }

    /// Shows that libkrb5 alone tries twice with this configuration.
    @Test func `kinit tries twice with a primary KDC`() async throws {
        let realm = try TestRealm.required()
        let path = try realm.writeConfiguration(primaryKDC(named: "primary_kdc", realm: realm))
        let environment = ["KRB5_CONFIG": "\(path):\(realm.configurationPath)"]
        _ = try await realm.run("kinit", ["-c", realm.newPath(), "control"], environment: environment, input: "wrong\n")
        #expect(try await realm.failedAttempts(of: "control") == 2)
    }

    private func configuration(_ setup: KDCSetup, realm: TestRealm) throws -> RealmConfiguration {
        var configuration = realm.configuration
        let address = "127.0.0.1:\(realm.kdcPort)"
        switch setup {
        case .plain: break
        case .primaryKDC, .masterKDC:
            let relation = setup == .primaryKDC ? "primary_kdc" : "master_kdc"
            let path = try realm.writeConfiguration(primaryKDC(named: relation, realm: realm))
            configuration.base = .files([path, realm.configurationPath])
        case .sameKDCTwice: configuration.preferredKDCs = [address, address]
        case .severalKDCs: configuration.preferredKDCs = [address, "127.0.0.1:1", "localhost:\(realm.kdcPort)"]
        case .deadKDCFirst: configuration.preferredKDCs = ["127.0.0.1:1", address]
        case .udp:
            configuration.base = .none
            configuration.libdefaults = ["udp_preference_limit": "1465", "dns_lookup_kdc": "false"]
            configuration.preferredKDCs = [address]
        }
        return configuration
    }

    /// The primary KDC is the same process by another name, because libkrb5 distinguishes KDCs by their names.
    private func primaryKDC(named relation: String, realm: TestRealm) -> String {
        "[realms]\n    \(realm.name) = {\n        \(relation) = localhost:\(realm.kdcPort)\n    }\n"
    }
}
