import SignOnPolicy
import Testing

/// The domain_realm entries for krb5.conf, which must agree with the policy's decisions.
struct DomainRealmEntriesTests {
    private func entries(_ mappings: [String: [String]]...) -> [String: String] {
        mappings.map { ExtensionConfiguration(realm: "USERS.TEST", hosts: [], domainRealmMapping: $0) }.domainRealmEntries
    }

    @Test func `a domain mapping of a host covers its subdomains`() {
        #expect(entries(["A.TEST": ["Example.test"]]) == ["example.test": "A.TEST", ".example.test": "A.TEST"])
        #expect(entries(["A.TEST": [".example.test"]]) == [".example.test": "A.TEST"])
    }

    @Test(arguments: [("A.TEST", "B.TEST"), ("B.TEST", "A.TEST")])
    func `an explicit domain mapping overrides an implied one`(host: String, suffix: String) throws {
        let mapping = [host: ["example.test"], suffix: [".example.test"]]
        #expect(entries(mapping) == ["example.test": host, ".example.test": suffix])
        let configuration = ExtensionConfiguration(realm: "USERS.TEST", hosts: [try HostRule(".example.test")], domainRealmMapping: mapping)
        let decision = DecisionPolicy([configuration]).decision(for: try Origin(url: "https://www.example.test/"))
        #expect(decision.plan?.serviceRealm == suffix)
    }

    @Test func `a trailing dot of a domain mapping is ignored, and so is an entry that is not a host name`() {
        #expect(entries(["A.TEST": ["Example.test.", "not a host"]]) == ["example.test": "A.TEST", ".example.test": "A.TEST"])
        #expect(entries(["A.TEST": [".example.test."]]) == [".example.test": "A.TEST"])
    }

    @Test func `the first profile's domain mapping applies`() {
        let first = ["B.TEST": ["example.test"]]
        #expect(entries(first, ["A.TEST": ["example.test"]]) == entries(first))
    }
}
