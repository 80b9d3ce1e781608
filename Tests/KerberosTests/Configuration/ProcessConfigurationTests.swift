import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The settings that GSSAPI reads from the process's own krb5.conf, which is different in each test case.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]), .timeLimit(.minutes(15)))
struct ProcessConfigurationTests {
    /// The columns: the line in `[libdefaults]`, whether GSSAPI is aware of channel bindings, and whether it finds the realm's KDC.
    @Test(
        .exitTest,
        arguments: [
            ("", false, true), ("client_aware_channel_bindings = true", true, true), ("client_aware_channel_bindings = no", false, true),
            (nil, false, false),
        ] as [(String?, Bool, Bool)]
    )
    func `the process's configuration is read from the files in KRB5_CONFIG`(line: String?, isAware: Bool, namesKDC: Bool) async throws {
        let realm = try TestRealm.required()
        var path = "/nonexistent"
        if let line { path = "\(try realm.writeConfiguration("[libdefaults]\n    \(line)\n")):\(realm.configurationPath)" }
        await #expect(processExitsWith: .success) {
            [path = path as String, isAware = isAware as Bool, namesKDC = namesKDC as Bool] in
            setenv("KRB5_CONFIG", path, 1)  // this closure runs in a process of its own
            // GSSAPI does not use the client's own configuration.
            let own = RealmConfiguration(realm: "EXAMPLE.TEST", libdefaults: ["client_aware_channel_bindings": "true"], base: .none)
            let found = try await KerberosClient(own).processConfiguration()
            try #require(found.isAwareOfChannelBindings == isAware)
            try #require(found.namesKDC == namesKDC)
            try #require(try await KerberosClient(own).processConfiguration(realm: "OTHER.TEST").namesKDC == false)
            endChildProcess()
        }
    }

    @Test(.exitTest) func `a syntax error in the process's krb5.conf is reported`() async throws {
        let path = try TestRealm.required().writeConfiguration("[libdefaults\n")
        await #expect(processExitsWith: .success) { [path = path as String] in
            setenv("KRB5_CONFIG", path, 1)
            let client = KerberosClient(RealmConfiguration(realm: "EXAMPLE.TEST", base: .none))
            let error = await #expect(throws: KerberosError.self) { _ = try await client.processConfiguration() }
            try #require(error?.code == .configurationInvalid)
            endChildProcess()
        }
    }
}
