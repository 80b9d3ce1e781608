import HTTPNegotiate

/// The keys of our own that list hosts: how those are answered that `Hosts` covers.
enum HostList: String, Sendable, Hashable, CaseIterable {
    case plainHTTP = "PlainHTTPHosts"
    case preemptive = "PreemptiveHosts"
    case delegation = "DelegationHosts"
    case unconditionalDelegation = "UnconditionalDelegationHosts"
    case optionalMutualAuthentication = "OptionalMutualAuthenticationHosts"
    case noMutualAuthentication = "NoMutualAuthenticationHosts"
    case noChannelBinding = "NoChannelBindingHosts"

    /// The list's entries that are host rules, each with its place in the list.
    func entries(in keys: [String: ProfileValue]) -> [(offset: Int, rule: HostRule)] {
        (keys[rawValue]?.strings ?? []).enumerated().compactMap { offset, text in (try? HostRule(text)).map { (offset, $0) } }
    }

    /// The list's entries that are host rules.
    func rules(in keys: [String: ProfileValue]) -> [HostRule] { entries(in: keys).map(\.rule) }

    /// The list that decides where a host stands in both.
    var stronger: HostList? {
        switch self {
        case .delegation: .unconditionalDelegation
        case .noMutualAuthentication: .optionalMutualAuthentication
        default: nil
        }
    }

    /// What holds for a host of the list, as a part of a sentence.
    var effect: String {
        switch self {
        case .plainHTTP: "the server is answered over plain http as well"
        case .preemptive: "the server gets a ticket without asking for it"
        case .delegation: "the server gets the user's own ticket if the KDC vouches for it"
        case .unconditionalDelegation: "the server gets the user's own ticket whatever the KDC says of it"
        case .optionalMutualAuthentication: "the server need not prove itself, but a proof that it sends must hold"
        case .noMutualAuthentication: "the server is not asked to prove itself"
        case .noChannelBinding: "the ticket is not bound to the server's certificate"
        }
    }
}
