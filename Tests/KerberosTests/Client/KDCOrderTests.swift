import Foundation
import KerberosTesting
import TestSupport
import Testing

@testable import Kerberos

/// The order in which KDCs are tried, and whether DNS is queried after them.
@Suite struct KDCOrderTests {
    @Test(
        arguments: [
            ("", ["kdc.test"], ["kdc.test"], true), ("dns_lookup_kdc = false", ["kdc.test"], ["kdc.test"], false),
            ("dns_lookup_kdc = yes", ["kdc.test"], ["kdc.test"], true), ("dns_fallback = no", ["kdc.test"], ["kdc.test"], false),
            ("", [], [], true),
        ] as [(String, [String], [String], Bool)]
    )
    func `DNS is queried after the preferred KDCs unless krb5.conf disables it`(
        _ relation: String,
        _ preferred: [String],
        _ named: [String],
        _ asksDNS: Bool
    ) async throws {
        try await withTestRealm { realm in
            let path = try realm.writeConfiguration("[libdefaults]\n\(relation)\n")
            let client = KerberosClient(RealmConfiguration(realm: "A.TEST", preferredKDCs: preferred, base: .files([path])))
            #expect(try await client.kdcOrder() == KDCOrder(named: named, asksDNS: asksDNS))
        }
    }

    @Test func `KDCs in krb5.conf follow the preferred ones, without a DNS query`() async throws {
        try await withTestRealm { realm in
            let path = try realm.writeConfiguration("[realms]\nA.TEST = {\nkdc = own.test\n}\n")
            let client = KerberosClient(RealmConfiguration(realm: "A.TEST", preferredKDCs: ["kdc.test"], base: .files([path])))
            #expect(try await client.kdcOrder() == KDCOrder(named: ["kdc.test", "own.test"], asksDNS: false))
        }
    }
}
