internal import Foundation
package import HTTPNegotiate
package import KCM
internal import Kerberos
internal import SSOAgentClient
internal import SystemSupport

/// Decides which peers may perform which operations of the agent.
///
/// The agent's own user may do everything, unless `credentialBundleIdACL` restricts the programs that may use the tickets. Another user
/// gets only what `AllowedPeers` grants: tokens for the hosts listed there, and the rules of that payload. Between programs of one user,
/// this is a policy and not a security boundary, because they can read each other's memory.
package struct AccessPolicy: Sendable {
    /// The ID of the user whose agent this is.
    package let owner: UInt32
    /// The permitted programs of each configuration that lists any.
    private let callerLists: [[CredentialCaller]]
    /// The denied programs of all configurations.
    private let deniedCallers: [CredentialCaller]
    /// The agent's own executable, which is always permitted, because the agent has the tickets anyway.
    private let ownExecutable: String?
    private let identify: @Sendable (Int32) -> CallerIdentity
    /// The entries whose paths have symbolic links, without these.
    private let resolved: [CredentialCaller: CredentialCaller]

    /// Creates the policy for these configurations. Resolves the symbolic links in their lists of programs, which may block for a disk.
    package init(owner: UInt32, configurations: [ExtensionConfiguration] = []) {
        self.init(owner: owner, configurations: configurations, ownExecutable: CallerIdentity(processID: getpid()).executable) {
            CallerIdentity(processID: $0)
        }
    }

    init(
        owner: UInt32,
        configurations: [ExtensionConfiguration],
        ownExecutable: String?,
        identify: @escaping @Sendable (Int32) -> CallerIdentity
    ) {
        self.owner = owner
        callerLists = configurations.compactMap(\.credentialCallers)
        deniedCallers = configurations.flatMap(\.deniedCallers)
        self.ownExecutable = ownExecutable
        self.identify = identify
        let callers = Set(callerLists.joined()).union(deniedCallers)
        resolved = Dictionary(uniqueKeysWithValues: callers.map { ($0, $0.resolved) }).filter { $0 != $1 }
    }

    /// Returns whether a peer may use the credential caches. They contain the tickets of every realm, so every list must permit the
    /// program.
    package func permitsCaches(_ peer: PeerCredential) -> Bool {
        peer.userID == owner && callerLists.allSatisfy { permits($0, peer) } && !denies(deniedCallers, peer)
    }

    /// Returns whether a peer may perform any operation.
    func knows(_ peer: PeerCredential, in configurations: [ExtensionConfiguration]) -> Bool {
        (try? visible(configurations, to: peer)) != nil
    }

    /// Throws unless a peer belongs to the audience of an operation.
    func check(_ peer: PeerCredential, for audience: AgentOperation.Audience, in configurations: [ExtensionConfiguration])
        throws(AgentProblem)
    {
        switch audience {
        case .owner: guard peer.userID == owner else { throw .forbidden("only the agent's own user may do this.") }
        // The peer may have been listed when it connected and no longer be.
        case .peers: _ = try visible(configurations, to: peer)
        }
    }

    /// Returns the configurations that a peer may see: all of them for the agent's own user, and for another user those whose
    /// `AllowedPeers` list it.
    func visible(_ configurations: [ExtensionConfiguration], to peer: PeerCredential) throws(AgentProblem) -> [ExtensionConfiguration] {
        guard peer.userID != owner else { return configurations }
        let visible = configurations.filter { configuration in configuration.allowedPeers.contains { $0.peer.matches(peer) } }
        guard !visible.isEmpty else { throw .forbidden("AllowedPeers names neither user \(peer.userID) nor group \(peer.groupID).") }
        return visible.map(\.forPeers)
    }

    /// Throws unless a peer may make a request.
    ///
    /// - Parameters:
    ///   - plan: The plan that answers the URL; nil if no rule covers the URL.
    ///   - configurations: All active configurations, because the tickets may be those of another configuration's realm.
    func check(
        _ peer: PeerCredential,
        for request: AuthorizationRequest,
        plan: AuthorizationPlan?,
        in configurations: [ExtensionConfiguration]
    ) throws(AgentProblem) {
        guard peer.userID == owner else {
            guard request.operation == .implicit, let plan, plan.configuration.allows(peer, host: plan.origin.host) else {
                throw .forbidden(
                    "AllowedPeers allows neither user \(peer.userID) nor group \(peer.groupID) to request tickets for this host."
                )
            }
            // The principal and the strictness of mutual authentication are the owner's choice.
            guard request.principal == nil, request.mutualAuthentication == nil, request.options.isEmpty else {
                throw .forbidden("only the agent's own user may choose the principal, mutual authentication or options.")
            }
            return
        }
        guard let plan else { return }
        try check(peer, byListsOf: [plan.configuration])
        let mode = request.operation == .implicit ? plan.configuration.credentialUseMode : nil
        let chosen = if let mode { mode.choice(request.principal) } else { request.principal }
        guard let name = chosen ?? plan.configuration.principalName else { return }
        try check(peer, answersAs: name, plan: plan, in: configurations)
    }

    /// Throws unless the lists of programs permit a peer to use the tickets of the principal that answers for a plan.
    func check(_ peer: PeerCredential, answersAs name: String, plan: AuthorizationPlan, in configurations: [ExtensionConfiguration])
        throws(AgentProblem)
    {
        guard peer.userID == owner, configurations.contains(where: \.limitsPrograms) else { return }
        let principal = try? Principal(typed: name, defaultRealm: plan.realm)
        let isOfKnownRealm = configurations.contains { $0.realm.uppercased() == principal?.realm.uppercased() }
        let mayBeAny = principal.map { $0.isEnterpriseName || $0.mayBeEnterpriseName && !isOfKnownRealm } ?? false
        let realm = mayBeAny ? nil : principal?.realm
        // Within its own realm the configuration that covers the URL decides, and the caller has already been checked against it.
        if realm != plan.realm { try check(peer, usesTicketsOf: realm, in: configurations) }
    }

    /// Throws unless the lists of programs permit a peer to sign in to a realm, refresh its tickets or change a password there.
    ///
    /// A program that may not use tickets must not have them acquired, or try passwords, either. Signing out, the status and stopping the
    /// agent give no program a ticket, and a user in trouble needs them from any program, so they stay open to the owner.
    ///
    /// - Parameter realm: The realm of the principal that the request was resolved to, which may differ from the realm in the request. If
    ///   it is nil or empty, the KDC may choose any realm, so every list applies.
    func check(_ peer: PeerCredential, usesTicketsOf realm: String?, in configurations: [ExtensionConfiguration]) throws(AgentProblem) {
        let mayBeAny = realm?.isEmpty ?? true
        try check(peer, byListsOf: configurations.filter { $0.limitsPrograms && (mayBeAny || $0.usesTickets(of: realm)) })
    }

    private func check(_ peer: PeerCredential, byListsOf configurations: [ExtensionConfiguration]) throws(AgentProblem) {
        for configuration in configurations {
            if denies(configuration.deniedCallers, peer) {
                throw .forbidden("DeniedBundleIdentifiers lists \(name(of: peer)), or it cannot be identified.")
            }
            if let list = configuration.credentialCallers, !permits(list, peer) {
                throw .forbidden("credentialBundleIdACL does not list \(name(of: peer)).")
            }
        }
    }

    private func permits(_ list: [CredentialCaller], _ peer: PeerCredential) -> Bool {
        guard peer.processID != getpid() else { return true }
        let caller = identify(peer.processID)
        guard caller.executable == nil || caller.executable != ownExecutable else { return true }
        return covers(list, executable: caller.executable, unit: caller.unit)
    }

    /// Returns whether a list denies a peer. A process whose executable cannot be identified is denied.
    private func denies(_ list: [CredentialCaller], _ peer: PeerCredential) -> Bool {
        guard !list.isEmpty, peer.processID != getpid() else { return false }
        let caller = identify(peer.processID)
        guard let executable = caller.executable ?? caller.replacedExecutable else { return true }
        return executable != ownExecutable && covers(list, executable: executable, unit: caller.unit)
    }

    private func covers(_ list: [CredentialCaller], executable: String?, unit: String?) -> Bool {
        list.contains { entry in
            [entry, resolved[entry]].contains { $0?.matches(executable: executable, unit: unit) == true }
        }
    }

    /// A peer's program in a message, such as `/usr/bin/curl (process 123)`.
    private func name(of peer: PeerCredential) -> String {
        let caller = identify(peer.processID)
        let program = (caller.executable ?? caller.replacedExecutable)?.escapedForDisplay() ?? "this program"
        return "\(program) (process \(peer.processID))"
    }
}

extension CredentialCaller {
    /// The entry with the symbolic links in its path resolved. The kernel reports a program's own file, while a profile may name a link
    /// to it, such as `/bin/curl` or `/usr/bin/python3`.
    fileprivate var resolved: CredentialCaller {
        func resolved(_ path: String) -> String { URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false) }
        return switch self {
        case .executable(let path): .executable(resolved(path))
        case .folder(let path): .folder(resolved(path).hasSuffix("/") ? resolved(path) : resolved(path) + "/")
        case .unit: self
        }
    }
}

extension ExtensionConfiguration {
    fileprivate var limitsPrograms: Bool { credentialCallers != nil || !deniedCallers.isEmpty }

    /// Whether tickets of a realm are used for this configuration: those of its own realm, and of its principal's realm, which may differ.
    ///
    /// The comparison ignores case, because a realm that differs from a known one only in case is treated as that realm.
    fileprivate func usesTickets(of realm: String?) -> Bool {
        let realm = realm?.uppercased()
        guard self.realm.uppercased() != realm, let principalName else { return self.realm.uppercased() == realm }
        let principal = try? Principal(typed: principalName, defaultRealm: self.realm)
        return principal.map { $0.realm.uppercased() == realm || $0.mayBeOfAnyRealm } ?? true
    }

    fileprivate func allows(_ peer: PeerCredential, host: String) -> Bool {
        allowedPeers.contains { allowed in
            allowed.peer.matches(peer) && allowed.hosts.contains { $0.matches(host: host) }
        }
    }
}

extension AllowedPeer.Peer {
    fileprivate func matches(_ peer: PeerCredential) -> Bool {
        switch self {
        case .user(let user): user == peer.userID
        case .group(let group): group == peer.groupID
        }
    }
}
