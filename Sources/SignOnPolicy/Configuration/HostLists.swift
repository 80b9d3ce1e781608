/// A list of hosts in a configuration, and the texts that describe it. A list changes how a host in ``ExtensionConfiguration/hosts`` is
/// answered, never whether; only that of the proxies says whether a proxy is answered.
///
/// The key of the profile, the check of its entries, `ksso profile show` and what other users' clients get are derived from ``all``.
package struct HostList: Sendable {
    /// What the hosts of a list are.
    package enum Subject: Sendable {
        /// Hosts that `Hosts` covers.
        case servers
        /// Hosts that `Hosts` covers, and proxies that `ProxyHosts` covers.
        case serversAndProxies
        /// Proxies, whether or not `Hosts` covers them.
        case proxies
    }

    /// The name of the profile's key.
    package let name: String
    /// The property that the key sets.
    package let property: any WritableKeyPath<ExtensionConfiguration, [HostRule]> & Sendable
    /// What its hosts are.
    package let subject: Subject
    /// The label of the list in `ksso profile show`.
    package let label: String
    /// The effect for a host of the list, as part of a sentence.
    package let effect: String
    /// The lists that have precedence if a host is in both.
    package let strongerLists: [HostList]
    /// The consequence for a host that `Hosts` does not cover, as part of a sentence.
    package let uncovered: String

    private init(
        _ name: String,
        _ property: any WritableKeyPath<ExtensionConfiguration, [HostRule]> & Sendable,
        of subject: Subject = .servers,
        label: String,
        effect: String,
        stronger: [HostList] = [],
        uncovered: String = "so it is not answered, and this entry has no effect"
    ) {
        self.name = name
        self.property = property
        self.subject = subject
        self.label = label
        self.effect = effect
        strongerLists = stronger
        self.uncovered = uncovered
    }

    /// All lists, in the order of their keys.
    package static let all = [
        plainHTTP, preemptive, delegation, unconditionalDelegation, optionalMutualAuthentication, noMutualAuthentication, noChannelBinding,
        proxies,
    ]

    package static let plainHTTP = HostList(
        "PlainHTTPHosts",
        \.plainHTTPHosts,
        label: "also over plain http",
        effect: "the server is also answered over plain http",
        uncovered: "so it is not answered over http either"
    )
    private static let preemptive = HostList(
        "PreemptiveHosts",
        \.preemptiveHosts,
        label: "sent a ticket preemptively after their first challenge",
        effect: "the server gets a ticket without a challenge"
    )
    private static let delegation = HostList(
        "DelegationHosts",
        \.delegationHosts,
        label: "delegated the user's ticket if the KDC approves",
        effect: "the server gets the user's own ticket if the KDC trusts it",
        stronger: [unconditionalDelegation]
    )
    private static let unconditionalDelegation = HostList(
        "UnconditionalDelegationHosts",
        \.unconditionalDelegationHosts,
        label: "delegated the user's ticket regardless of the KDC",
        effect: "the server gets the user's own ticket even if the KDC does not trust it"
    )
    private static let optionalMutualAuthentication = HostList(
        "OptionalMutualAuthenticationHosts",
        \.optionalMutualAuthenticationHosts,
        label: "mutual authentication is optional",
        effect: "mutual authentication is optional for the server, but a proof that it sends must be valid"
    )
    private static let noMutualAuthentication = HostList(
        "NoMutualAuthenticationHosts",
        \.noMutualAuthenticationHosts,
        of: .serversAndProxies,
        label: "mutual authentication is not requested",
        effect: "mutual authentication is not requested",
        stronger: [optionalMutualAuthentication]
    )
    private static let noChannelBinding = HostList(
        "NoChannelBindingHosts",
        \.noChannelBindingHosts,
        label: "sent a ticket without channel bindings",
        effect: "the ticket is not bound to the server's certificate"
    )
    package static let proxies = HostList(
        "ProxyHosts",
        \.proxyHosts,
        of: .proxies,
        label: "proxies that get a ticket",
        effect: "the proxy gets a ticket when it asks for one"
    )
}
