import KerberosTestingTraits
import Testing

/// A test is compiled, not run: a program has no test runner.
@Suite(.testRealm(users: ["alice": "secret"]))
struct RealmTests {}

print("works with \(RealmTests.self)")
