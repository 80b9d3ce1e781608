internal import Foundation
package import HTTPNegotiate
package import KCM
internal import Kerberos
internal import SSOAgentClient

/// Who may do what with the agent.
///
/// The agent's own user may do everything, unless `credentialBundleIdACL` names the programs that may use the tickets. Another user gets
/// what `AllowedPeers` grants: tokens for the hosts named there and the rules of that payload, and nothing else. Within one user this is
/// policy and no boundary: programs of one user can look into each other.
package struct AccessPolicy: Sendable {
    /// Whose agent it is.
    package let owner: UInt32
    /// Each configuration's programs, where it names any.
    private let callerLists: [[CredentialCaller]]
    /// Each configuration's programs that get nothing.
    private let deniedCallers: [CredentialCaller]
    /// The agent's own program, which holds the tickets anyway.
    private let ownExecutable: String?
    private let identify: @Sendable (Int32) -> CallerIdentity

    /// The policy of these configurations.
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
    }

    /// Whether a peer may use the credential caches. They hold the tickets of every realm, so each list must name the program.
    package func permitsCaches(_ peer: PeerCredential) -> Bool {
        peer.userID == owner && callerLists.allSatisfy { permits($0, peer) } && !denies(deniedCallers, peer)
    }

    /// Whether a peer may ask for anything at all.
    func knows(_ peer: PeerCredential, in configurations: [ExtensionConfiguration]) -> Bool {
        (try? visible(configurations, to: peer)) != nil
    }

    /// Throws unless the caller is one of those whom an operation is for.
    func check(_ peer: PeerCredential, for audience: AgentOperation.Audience, in configurations: [ExtensionConfiguration])
        throws(AgentProblem)
    {
        switch audience {
        case .owner: guard peer.userID == owner else { throw .forbidden("only the agent's own user may do this.") }
        // It may have been named when it connected, and no more.
        case .peers: _ = try visible(configurations, to: peer)
        }
    }

    /// The rules that concern a peer: all for the agent's own user; for another those that let it have tickets.
    func visible(_ configurations: [ExtensionConfiguration], to peer: PeerCredential) throws(AgentProblem) -> [ExtensionConfiguration] {
        guard peer.userID != owner else { return configurations }
        let visible = configurations.filter { configuration in configuration.allowedPeers.contains { $0.peer.matches(peer) } }
        guard !visible.isEmpty else { throw .forbidden("AllowedPeers names neither user \(peer.userID) nor group \(peer.groupID).") }
        return visible.map(\.withoutNamesOfOthers)
    }

    /// Throws unless the caller may have what it asks for.
    ///
    /// - Parameters:
    ///   - plan: How the URL is answered; nil where no rule covers it.
    ///   - configurations: All that are in force: the tickets may be those of another one's realm.
    func check(
        _ peer: PeerCredential,
        for request: AuthorizationRequest,
        plan: AuthorizationPlan?,
        in configurations: [ExtensionConfiguration]
    ) throws(AgentProblem) {
        guard peer.userID == owner else {
            guard request.operation == .implicit, let plan, plan.configuration.allows(peer, host: plan.origin.host) else {
                throw .forbidden("AllowedPeers lets neither user \(peer.userID) nor group \(peer.groupID) have a ticket for this host.")
            }
            // Who answers, and how strictly, is the owner's choice alone.
            guard request.principal == nil, request.mutualAuthentication == nil, request.options.isEmpty else {
                throw .forbidden("only the agent's own user may choose the principal, the mutual authentication or options.")
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

    /// Throws unless the lists let the caller use the tickets of the principal that answers for a plan.
    func check(_ peer: PeerCredential, answersAs name: String, plan: AuthorizationPlan, in configurations: [ExtensionConfiguration])
        throws(AgentProblem)
    {
        guard peer.userID == owner, configurations.contains(where: \.limitsPrograms) else { return }
        let realm = (try? Principal(typed: name, defaultRealm: plan.realm))?.realm
        // Of its own realm's configurations the one that covers the URL decides, by which the caller was checked.
        if realm != plan.realm { try check(peer, usesTicketsOf: realm, in: configurations) }
    }

    /// Throws unless the lists let the caller sign in to a realm, refresh its tickets or change a password there.
    ///
    /// A program that may have no ticket must not have one fetched, or try passwords, either. Signing out, the state and the end of the
    /// agent give no program a ticket, and are what a person in trouble needs from any program: these stay open to the owner.
    ///
    /// - Parameter realm: The realm of the principal that the request was resolved to, which need not be the one that it names. If it is
    ///   nil or empty, the KDC may choose any, so that every list counts.
    func check(_ peer: PeerCredential, usesTicketsOf realm: String?, in configurations: [ExtensionConfiguration]) throws(AgentProblem) {
        let mayBeAny = realm?.isEmpty ?? true
        try check(peer, byListsOf: configurations.filter { $0.limitsPrograms && (mayBeAny || $0.usesTickets(of: realm)) })
    }

    private func check(_ peer: PeerCredential, byListsOf configurations: [ExtensionConfiguration]) throws(AgentProblem) {
        for configuration in configurations {
            if denies(configuration.deniedCallers, peer) {
                throw .forbidden("DeniedBundleIdentifiers names this program, or it can't be identified (process \(peer.processID)).")
            }
            if let list = configuration.credentialCallers, !permits(list, peer) {
                throw .forbidden("credentialBundleIdACL does not name this program (process \(peer.processID)).")
            }
        }
    }

    private func permits(_ list: [CredentialCaller], _ peer: PeerCredential) -> Bool {
        guard peer.processID != getpid() else { return true }
        let caller = identify(peer.processID)
        guard caller.executable == nil || caller.executable != ownExecutable else { return true }
        return list.contains { $0.matches(executable: caller.executable, unit: caller.unit) }
    }

    /// Whose program can't be seen may be one that is named.
    private func denies(_ list: [CredentialCaller], _ peer: PeerCredential) -> Bool {
        guard !list.isEmpty, peer.processID != getpid() else { return false }
        let caller = identify(peer.processID)
        guard let executable = caller.executable ?? caller.replacedExecutable else { return true }
        return executable != ownExecutable && list.contains { $0.matches(executable: executable, unit: caller.unit) }
    }
}

extension ExtensionConfiguration {
    fileprivate var limitsPrograms: Bool { credentialCallers != nil || !deniedCallers.isEmpty }

    /// Whether tickets of a realm answer for this configuration: those of its own, and of its principal's, which may be another.
    ///
    /// The case does not count: a realm that differs from a known one in case only is taken for it.
    fileprivate func usesTickets(of realm: String?) -> Bool {
        let realm = realm?.uppercased()
        guard self.realm.uppercased() != realm, let principalName else { return self.realm.uppercased() == realm }
        let principal = try? Principal(typed: principalName, defaultRealm: self.realm)
        return principal.map { $0.realm.uppercased() == realm } ?? true
    }

    /// What another user's client needs for its verdicts.
    fileprivate var withoutNamesOfOthers: ExtensionConfiguration {
        var copy = self
        (copy.allowedPeers, copy.credentialCallers, copy.deniedCallers, copy.source) = ([], nil, [], "")
        return copy
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

/// What the kernel says of a running process: its program and its systemd unit.
///
/// A process may have ended, and its number may be another's, or it may have become another program: what is read is so now.
struct CallerIdentity: Sendable, Hashable {
    /// The program's file; nil where it can't be seen, or was replaced while it ran.
    var executable: String?
    /// The file that it was started from, where that was replaced while it ran: enough to deny it, and not to permit it.
    var replacedExecutable: String?
    /// The innermost systemd unit that it runs in, such as `nginx.service`.
    var unit: String?

    init(executable: String? = nil, replacedExecutable: String? = nil, unit: String? = nil) {
        self.executable = executable
        self.replacedExecutable = replacedExecutable
        self.unit = unit
    }

    /// Reads `/proc` (proc(5)); these files are the kernel's own, and reading them waits for nothing.
    init(processID: Int32) {
        executable = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(processID)/exe")
        if let path = executable, path.hasSuffix(Self.deletedMark) {
            (executable, replacedExecutable) = (nil, String(path.dropLast(Self.deletedMark.count)))
        }
        unit = (try? String(contentsOfFile: "/proc/\(processID)/cgroup", encoding: .utf8)).flatMap { Self.unit(inControlGroups: $0) }
    }

    private static let deletedMark = " (deleted)"

    /// The unit by the control group that systemd put the process into (cgroups(7)).
    static func unit(inControlGroups text: String) -> String? {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0] == "0" || parts[1] == "name=systemd" else { continue }
            if let unit = parts[2].split(separator: "/").last(where: { $0.hasSuffix(".service") || $0.hasSuffix(".scope") }) {
                return String(unit)
            }
        }
        return nil
    }
}
