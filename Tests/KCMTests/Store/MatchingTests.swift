import Testing

@testable import KCM

/// Each rule of `krb5int_cc_creds_match_request`: a pattern that matches the stored credential, and one that does not.
struct MatchingTests {
    struct Rule: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let match: MatchFlags
        let pattern: Fields
        let fits: Bool

        init(_ name: String, _ match: MatchFlags, _ fits: Bool, _ change: (inout Fields) -> Void) {
            testDescription = "\(name): \(fits)"
            self.match = match
            pattern = Fields().with(change)
            self.fits = fits
        }
    }

    private static let foreign = Sample.principal("HTTP", "server", realm: "OTHER.TEST")
    private static let foreignAlice = Sample.principal("alice", realm: "OTHER.TEST")

    static let principals = [
        Rule("the same", [], true) { _ in },
        Rule("another client", [], false) { $0.client = Sample.bob },
        Rule("no client", [], true) { $0.client = nil },
        Rule("another server", [], false) { $0.server = Sample.principal("HTTP", "other") },
        Rule("no server", [], true) { $0.server = nil },
        Rule("neither client nor server", [], true) { ($0.client, $0.server) = (nil, nil) },
        Rule("the server's type", [], true) { $0.server = Sample.principal("HTTP", "server", type: 3) },
        Rule("the server's realm", [], false) { $0.server = foreign },
        Rule("the server's realm ignored", .serverNameOnly, true) { $0.server = foreign },
        Rule("the server's realm ignored, not its name", .serverNameOnly, false) { $0.server = Sample.principal("HTTP", "other") },
        Rule("the client's realm not ignored", .serverNameOnly, false) { $0.client = foreignAlice },
        Rule("both realms ignored", .ignoreRealms, true) { ($0.client, $0.server) = (foreignAlice, foreign) },
        Rule("both realms ignored, not the client's name", .ignoreRealms, false) { $0.client = Sample.bob },
    ]

    static let fields = [
        Rule("flags not requested", [], true) { $0.flags = 1 },
        Rule("no flag requested", .flags, true) { $0.flags = 0 },
        Rule("a flag that is there", .flags, true) { $0.flags = 0x4000_0000 },
        Rule("a flag that is not", .flags, false) { $0.flags = 0x4000_0001 },
        Rule("fewer flags, exactly", .exactFlags, false) { $0.flags = 0 },
        Rule("the same flags, exactly", .exactFlags, true) { _ in },
        Rule("authorization data not requested", [], true) { $0.authorizationData = [[9]] },
        Rule("other authorization data", .authorizationData, false) { $0.authorizationData = [[9]] },
        Rule("more authorization data", .authorizationData, false) { $0.authorizationData = [[], [7]] },
        Rule("no authorization data", .authorizationData, true) { _ in },
        Rule("another second ticket", .secondTicket, false) { $0.secondTicket = [1] },
        Rule("no second ticket", .secondTicket, true) { _ in },
        Rule("another key type, not requested", [], true) { $0.type = 17 },
        Rule("another key type", .keyType, false) { $0.type = 17 },
        Rule("the same key type", .keyType, true) { _ in },
        Rule("no key", .keyType, false) { $0.type = 0 },
        Rule("a session key without the bit", [], true) { $0.isSessionKey = 1 },
        Rule("a session key", .isSessionKey, false) { $0.isSessionKey = 1 },
        Rule("no session key", .isSessionKey, true) { _ in },
        Rule("cached only, which is not a rule", .cachedOnly, true) { _ in },
    ]

    static let times = [
        Rule("times not requested", [], true) { $0.times.end = 9000 },
        Rule("ends later than requested", .times, true) { $0.times = CredentialTimes(end: 1999) },
        Rule("ends as requested", .times, true) { $0.times = CredentialTimes(end: 2000) },
        Rule("ends earlier than requested", .times, false) { $0.times = CredentialTimes(end: 2001) },
        Rule("ends earlier than requested, beyond 2038", .times, false) { $0.times = CredentialTimes(end: 0x9000_0000) },
        Rule("renewable as requested", .times, true) { $0.times = CredentialTimes(renewTill: 3000) },
        Rule("not renewable as requested", .times, false) { $0.times = CredentialTimes(renewTill: 3001) },
        Rule("no times", .times, true) { $0.times = CredentialTimes() },
        Rule("another start, not requested", .times, true) { $0.times.start = 5 },
        Rule("exactly the same", .exactTimes, true) { _ in },
        Rule("another start, exactly", .exactTimes, false) { $0.times.start = 1001 },
        Rule("another authentication, exactly", .exactTimes, false) { $0.times.authentication = 1001 },
        Rule("an earlier end, exactly", .exactTimes, false) { $0.times.end = 1999 },
        Rule("an earlier renewal, exactly", .exactTimes, false) { $0.times.renewTill = 2999 },
    ]

    @Test(arguments: principals + fields + times) func `a pattern matches a credential as libkrb5 would match it`(rule: Rule) throws {
        #expect(try rule.pattern.pattern(rule.match).matches(Fields().credential()) == rule.fits)
    }

    /// The index must find the same credentials as the rule alone.
    @Test(arguments: principals + fields + times) func `RETRIEVE and REMOVE_CRED match credentials as libkrb5 would`(rule: Rule) throws {
        var client = Client.signedIn()
        #expect(client.store(Fields()) == .ok)
        #expect(client.retrieve(rule.pattern, rule.match).code == (rule.fits ? .ok : .notFound))
        #expect(client.send(.remove, "", rule.pattern.patternBytes(rule.match)).code == (rule.fits ? .ok : .notFound))
        #expect(try client.list().count == (rule.fits ? 0 : 1))
    }

    @Test func `a user-to-user ticket matches only a pattern that requests one`() throws {
        let held = Fields(isSessionKey: 1, secondTicket: [5])
        #expect(try !Fields().pattern().matches(held.credential()))
        #expect(try !Fields().pattern(.isSessionKey).matches(held.credential()))
        #expect(try held.pattern([.isSessionKey, .secondTicket]).matches(held.credential()))
        #expect(try !held.pattern().matches(held.credential()))
    }

    @Test func `nonempty authorization data and second tickets are compared`() throws {
        let held = Fields(authorizationData: [[1], [2]], secondTicket: [5])
        let match: MatchFlags = [.authorizationData, .secondTicket]
        #expect(try held.pattern(match).matches(held.credential()))
        #expect(try !held.with { $0.authorizationData = [[2], [1]] }.pattern(match).matches(held.credential()))
        #expect(try !held.with { $0.secondTicket = [] }.pattern(match).matches(held.credential()))
    }

    @Test func `RETRIEVE returns the matching ticket that was stored first`() throws {
        var client = Client.signedIn()
        let strong = Fields(type: 18, ticket: [1])
        let weak = Fields(type: 17, ticket: [2])
        for fields in [weak, strong] { #expect(client.store(fields) == .ok) }
        #expect(client.retrieve(strong).body == weak.bytes)
        #expect(client.retrieve(strong, .keyType).body == strong.bytes)
        #expect(client.retrieve(Fields(client: nil, server: nil)).body == weak.bytes)
    }
}
