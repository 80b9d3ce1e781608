import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// What GSSAPI finds in the process's own krb5.conf: each process here has another.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"])) struct ProcessConfigurationTests {
    /// The columns: what stands in `[libdefaults]`, whether bindings are known of, whether the realm's KDC is.
    @Test(
        arguments: [
            ("", false, true), ("client_aware_channel_bindings = true", true, true), ("client_aware_channel_bindings = no", false, true),
            (nil, false, false),
        ] as [(String?, Bool, Bool)]
    )
    func `is read from the processs file`(line: String?, isAware: Bool, namesKDC: Bool) async throws {
        let realm = try TestRealm.required()
        var path = "/nonexistent"
        if let line { path = "\(try realm.writeConfiguration("[libdefaults]\n    \(line)\n")):\(realm.configurationPath)" }
        await #expect(processExitsWith: .success) {
            [path = path as String, isAware = isAware as Bool, namesKDC = namesKDC as Bool] in
            setenv("KRB5_CONFIG", path, 1)  // the process is this closure's own
            // A configuration of its own is no concern of GSSAPI's.
            let own = RealmConfiguration(realm: "EXAMPLE.TEST", libdefaults: ["client_aware_channel_bindings": "true"], base: .none)
            let found = try await KerberosClient(own).processConfiguration()
            try #require(found.isAwareOfChannelBindings == isAware)
            try #require(found.namesKDC == namesKDC)
            try #require(try await KerberosClient(own).processConfiguration(realm: "OTHER.TEST").namesKDC == false)
            endChildProcess()
        }
    }

    @Test func `a file with a fault is said to have one`() async throws {
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
