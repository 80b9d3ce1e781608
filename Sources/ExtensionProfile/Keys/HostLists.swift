import SignOnPolicy

/// A key of this project that lists hosts, and the texts of the advice on its entries. A list changes how a host in `Hosts` is answered,
/// never whether.
struct HostList: Sendable {
    /// The key's name.
    let name: String
    /// The property that the key sets.
    let property: KeySetting.Property<[HostRule]>
    /// The effect for a host of the list, as part of a sentence.
    let effect: String
    /// The lists that have precedence if a host is in both.
    let strongerLists: [HostList]
    /// The consequence for a host that `Hosts` does not cover, as part of a sentence.
    let uncovered: String

    private init(
        _ name: String,
        _ property: KeySetting.Property<[HostRule]>,
        effect: String,
        stronger: [HostList] = [],
        uncovered: String = "so it is not answered, and this entry has no effect"
    ) {
        self.name = name
        self.property = property
        self.effect = effect
        strongerLists = stronger
        self.uncovered = uncovered
    }

    /// All lists, in the order of their keys.
    static let all = [
        plainHTTP, preemptive, delegation, unconditionalDelegation, optionalMutualAuthentication, noMutualAuthentication, noChannelBinding,
    ]

    static let plainHTTP = HostList(
        "PlainHTTPHosts",
        \.plainHTTPHosts,
        effect: "the server is also answered over plain http",
        uncovered: "so it is not answered over http either"
    )
    private static let preemptive = HostList(
        "PreemptiveHosts",
        \.preemptiveHosts,
        effect: "the server gets a ticket without a challenge"
    )
    private static let delegation = HostList(
        "DelegationHosts",
        \.delegationHosts,
        effect: "the server gets the user's own ticket if the KDC trusts it",
        stronger: [unconditionalDelegation]
    )
    private static let unconditionalDelegation = HostList(
        "UnconditionalDelegationHosts",
        \.unconditionalDelegationHosts,
        effect: "the server gets the user's own ticket even if the KDC does not trust it"
    )
    private static let optionalMutualAuthentication = HostList(
        "OptionalMutualAuthenticationHosts",
        \.optionalMutualAuthenticationHosts,
        effect: "mutual authentication is optional for the server, but a proof that it sends must be valid"
    )
    private static let noMutualAuthentication = HostList(
        "NoMutualAuthenticationHosts",
        \.noMutualAuthenticationHosts,
        effect: "mutual authentication is not requested",
        stronger: [optionalMutualAuthentication]
    )
    private static let noChannelBinding = HostList(
        "NoChannelBindingHosts",
        \.noChannelBindingHosts,
        effect: "the ticket is not bound to the server's certificate"
    )

    /// The declaration of the key.
    var key: ProfileKey { ProfileKey(name, .payload, .strings, check: .hostRules, sets: .hosts(property)) }

    /// The list's valid host rules.
    func rules(in keys: [String: ProfileValue]) -> [HostRule] { (keys[name]?.strings ?? []).hostRules }
}

extension [String] {
    /// The entries that are valid host rules.
    var hostRules: [HostRule] { compactMap { try? HostRule($0) } }
}
