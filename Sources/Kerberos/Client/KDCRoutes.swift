internal import CKerberos
internal import Synchronization

extension KerberosClient {
    /// Runs a call that may contact a KDC, within the deadline. If DNS is used after the preferred KDCs, each of the two attempts gets half
    /// of a given deadline, or the full default deadline.
    ///
    /// A call is repeated only if no KDC has replied: after a KDC's first reply the password is sent, and each wrong one is counted.
    func performOnNetwork<Value: Sendable>(
        subject: String,
        realms: AskedRealms = .own,
        deadline limit: Duration?,
        replies: ReplyNote? = nil,
        _ body: @escaping @Sendable (Context, CallDeadline) throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        do throws(KerberosError) {
            guard try await hasSecondRoute() else {
                return try await performByOneRoute(subject: subject, realms: realms, deadline: limit, replies: replies, body)
            }
            // A controller that has just answered gets the whole time, because DNS then has no better KDC.
            let first = configuration.preferredKDCs.isEmpty ? limit : limit.map { $0 / 2 }
            return try await performByBothRoutes(
                subject: subject,
                realms: realms,
                deadline: first,
                replies: replies,
                body
            )
        } catch {
            throw error.namingMissingPlugin(for: configuration)
        }
    }

    /// Runs a call that may contact other realms' KDCs and sends no password, so that it can be repeated. If one of those realms cannot be
    /// reached by its preferred KDCs and DNS is used after them, each of the two attempts gets half of a given deadline, or the full
    /// default one.
    ///
    /// - Parameter realm: The service's realm; empty if the KDC finds it.
    func performThroughTrusts<Value: Sendable>(
        subject: String,
        realm: String,
        deadline limit: Duration?,
        _ body: @escaping @Sendable (Context, CallDeadline) throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        let trusted = try await trustedRealmsInDNS()
        // A ticket for the client's own realm requires no other realm's KDC.
        guard !trusted.isEmpty, realm != configuration.realm else {
            return try await performOnNetwork(subject: subject, realms: .wayTo(realm), deadline: limit, body)
        }
        let limit = limit.map { $0 / 2 }
        let route = firstRoute(.trusted)
        let replies = ReplyNote()
        let first: KerberosError
        do throws(KerberosError) {
            return try await performOnNetwork(subject: subject, realms: .wayTo(realm), deadline: limit, replies: replies, body)
        } catch  where error.isOfReach && (replies.hasReply || trusted.contains(realm)) {
            // The reply came from the client's own realm; the other realm's KDC does not answer.
            first = error
        }
        take(route.other, .trusted)
        do throws(KerberosError) {
            return try await performOnNetwork(subject: subject, realms: .wayTo(realm), deadline: limit, body)
        } catch  where error.isOfReach {
            take(.configured, .trusted)
            throw (route == .configured ? first : error).namingDNS
        }
    }

    /// Whether DNS is asked after the KDCs that are tried first: the preferred ones, or the nearest controllers of the domain.
    private func hasSecondRoute() async throws(KerberosError) -> Bool {
        guard !configuration.preferredKDCs.isEmpty || looksForControllers else { return false }
        let order = try await kdcOrder()
        guard order.asksDNS else { return false }
        if !configuration.preferredKDCs.isEmpty { return true }
        guard order.named.isEmpty else { return false }
        // While the controllers are known not to answer, DNS is asked first, and they are not looked for.
        return firstRoute(.own) == .discovered ? true : await locateControllers()
    }

    private func performByBothRoutes<Value: Sendable>(
        subject: String,
        realms: AskedRealms,
        deadline limit: Duration?,
        replies outer: ReplyNote?,
        _ body: @escaping @Sendable (Context, CallDeadline) throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        let route = firstRoute(.own)
        let replies = ReplyNote(within: outer)
        let first: KerberosError
        do throws(KerberosError) {
            return try await performByOneRoute(subject: subject, realms: realms, deadline: limit, replies: replies, body)
        } catch  where error.isOfReach && !replies.hasReply {
            first = error
        }
        if configuration.preferredKDCs.isEmpty { forgetControllers() } else if route == .configured { _ = await locateControllers() }
        take(route.other, .own)
        do throws(KerberosError) {
            let limit = configuration.preferredKDCs.isEmpty ? limit.map { $0 / 2 } : limit
            return try await performByOneRoute(subject: subject, realms: realms, deadline: limit, replies: outer, body)
        } catch  where error.isOfReach {
            take(.configured, .own)
            throw (route == .configured ? first : error).namingDNS
        }
    }
}

extension KerberosError {
    /// Whether the error means that no KDC could be reached.
    fileprivate var isOfReach: Bool { [.kdcUnreachable, .realmUnknown].contains(code) }

    fileprivate var namingDNS: KerberosError { adding("DNS lists no other KDC that answers.") }

    /// Adds a hint about libkrb5's TLS plugin: without it a KDC proxy cannot be reached, and libkrb5 reports that only in its trace.
    fileprivate func namingMissingPlugin(for configuration: RealmConfiguration) -> KerberosError {
        guard isOfReach, configuration.preferredKDCs.contains(where: { $0.hasPrefix("https://") }), !LibraryPlugin.tls.isInstalled else {
            return self
        }
        return adding("A KDC proxy (kkdcp) requires libkrb5's TLS plugin: install krb5-k5tls.")
    }

    /// Inserts a fact before the advice, which may end in a command that a reader copies.
    private func adding(_ sentence: String) -> KerberosError {
        guard let advice = message.ranges(of: " Check the ").last else { return saying("\(message) \(sentence)") }
        return saying("\(message[..<advice.lowerBound]) \(sentence)\(message[advice.lowerBound...])")
    }
}

/// Where a realm's KDCs are looked for.
public struct KDCOrder: Sendable, Hashable {
    /// The KDCs that the profile and krb5.conf name, in the order in which they are tried. If sssd's locator plugin is installed, libkrb5
    /// asks it first.
    public let named: [String]
    /// Whether DNS is asked for more KDCs if none of the preferred KDCs answers, or if none is named. False if krb5.conf names others, or
    /// has `dns_lookup_kdc = false`. libkrb5 itself, and so stock programs, asks DNS only if none is named.
    public let asksDNS: Bool
}

/// How the KDCs of a realm are found.
enum KDCRoute: Sendable, Hashable {
    /// The preferred ones and those of krb5.conf; DNS if there are none.
    case configured
    /// DNS only, because krb5.conf, which may be generated from the profile, names only the preferred ones.
    case discovered

    var other: KDCRoute { self == .configured ? .discovered : .configured }
}

/// The realms whose KDCs a route leads to.
enum KDCScope: Sendable, Hashable {
    /// The client's own realm.
    case own
    /// Realms that trusts lead to.
    case trusted
}

extension RealmConfiguration {
    /// A copy with which libkrb5 finds the KDCs of these realms in DNS.
    func findingInDNS(_ realms: Set<String>) -> RealmConfiguration {
        var copy = self
        if realms.contains(realm) { copy.preferredKDCs = [] }
        copy.otherKDCs = otherKDCs.filter { !realms.contains($0.key) }
        copy.realmsWithoutKDCs = realms
        return copy
    }
}

extension Context {
    /// Whether krb5.conf allows DNS lookups for KDCs.
    func asksDNSForKDCs() throws(KerberosError) -> Bool {
        let words = try values(["libdefaults", "dns_lookup_kdc"]) + values(["libdefaults", "dns_fallback"])
        return words.first.map(ConfigurationBoolean.isTrue) ?? true
    }
}

/// Records whether a KDC has replied during a call, including an abandoned one, with which message type and for which realm.
final class ReplyNote: Sendable {
    private let flag = Atomic(false)
    private let lastTag = Atomic<UInt8>(0)
    private let realm = Mutex<String?>(nil)
    private let outer: ReplyNote?
    private let action: @Sendable () -> Void

    /// - Parameters:
    ///   - outer: The note of the enclosing call, which records the same replies.
    ///   - action: What to do with each reply, on the thread of the call.
    init(within outer: ReplyNote? = nil, _ action: @escaping @Sendable () -> Void = {}) {
        self.outer = outer
        self.action = action
    }

    var hasReply: Bool { flag.load(ordering: .acquiring) }

    /// Whether the last reply was an AS-REP (RFC 4120 section 5.4.2), readable or not.
    var lastIsTicket: Bool { lastTag.load(ordering: .acquiring) == 0x6b }

    /// The realm whose KDC sent the last reply; nil before the first.
    var lastRealm: String? { realm.withLock { $0 } }

    private func note(tag: UInt8, from realm: String) {
        self.realm.withLock { $0 = realm }
        lastTag.store(tag, ordering: .releasing)
        flag.store(true, ordering: .releasing)
        action()
        outer?.note(tag: tag, from: realm)
    }

    /// Called by libkrb5 with a KDC's reply, or with the reason why none came (`krb5_post_recv_fn`).
    fileprivate static let callback: krb5_post_recv_fn = { _, data, code, realm, _, reply, _ in
        if code == 0, let reply, let data {
            let tag = reply.pointee.length > 0 ? reply.pointee.data.pointee : 0
            let name = realm.map { String(copying: $0.pointee) } ?? ""
            Unmanaged<ReplyNote>.fromOpaque(data).takeUnretainedValue().note(tag: UInt8(bitPattern: tag), from: name)
        }
        return code
    }
}

extension Context {
    /// Records KDC replies in a note from now on; nil stops it.
    func noteReplies(in note: ReplyNote?) {
        replies = note
        krb5_set_kdc_recv_hook(raw, note == nil ? nil : ReplyNote.callback, note.map { Unmanaged.passUnretained($0).toOpaque() })
    }
}
