internal import CKerberos
internal import Synchronization

extension KerberosClient {
    /// Runs a call that may ask a KDC, within the deadline. Where DNS comes after the preferred KDCs each of the two has half of a deadline
    /// that is given; the default one each has for itself.
    ///
    /// Only a call in which no KDC has said anything is made again: after a KDC's first word the password is on its way, and a wrong one is
    /// counted each time.
    func performOnNetwork<Value: Sendable>(
        subject: String,
        realms: AskedRealms = .own,
        deadline limit: Duration?,
        replies: ReplyNote? = nil,
        _ body: @escaping @Sendable (Context, CallDeadline) throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        do throws(KerberosError) {
            var asksDNS = false
            if !configuration.preferredKDCs.isEmpty { asksDNS = try await kdcOrder().asksDNS }
            guard asksDNS else {
                return try await performByOneRoute(subject: subject, realms: realms, deadline: limit, replies: replies, body)
            }
            return try await performByBothRoutes(
                subject: subject,
                realms: realms,
                deadline: limit.map { $0 / 2 },
                replies: replies,
                body
            )
        } catch {
            throw error.namingMissingPlugin(for: configuration)
        }
    }

    /// The same for a call in which other realms' KDCs may be asked too, and no password is sent, so that it may be made again. Where one
    /// of those realms is out of reach by its preferred KDCs, and DNS comes after them, each of the two ways has half of a deadline that is
    /// given, or the default one for itself.
    ///
    /// - Parameter realm: The service's; empty where a KDC is asked for it.
    func performThroughTrusts<Value: Sendable>(
        subject: String,
        realm: String,
        deadline limit: Duration?,
        _ body: @escaping @Sendable (Context, CallDeadline) throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        let trusted = try await trustedRealmsInDNS()
        // A ticket of the own realm needs no other one's KDC.
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
            // Whoever answered was the own realm's KDC, and the other one's does not.
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
        take(route.other, .own)
        do throws(KerberosError) {
            return try await performByOneRoute(subject: subject, realms: realms, deadline: limit, replies: outer, body)
        } catch  where error.isOfReach {
            take(.configured, .own)
            throw (route == .configured ? first : error).namingDNS
        }
    }
}

extension KerberosError {
    /// Whether it says that no KDC could be reached.
    fileprivate var isOfReach: Bool { [.kdcUnreachable, .realmUnknown].contains(code) }

    fileprivate var namingDNS: KerberosError { adding("DNS names no other KDC that answers.") }

    /// A KDC behind a proxy is out of reach without libkrb5's TLS plugin, and libkrb5 says so in its trace alone.
    fileprivate func namingMissingPlugin(for configuration: RealmConfiguration) -> KerberosError {
        guard isOfReach, configuration.preferredKDCs.contains(where: { $0.hasPrefix("https://") }), !LibraryPlugin.tls.isInstalled else {
            return self
        }
        return adding("A KDC proxy (kkdcp) needs libkrb5's TLS plugin: install krb5-k5tls.")
    }

    private func adding(_ sentence: String) -> KerberosError { saying("\(message) \(sentence)") }
}

/// Where a realm's KDCs are looked for.
public struct KDCOrder: Sendable, Hashable {
    /// Those that the profile and krb5.conf name, in the order in which they are tried. sssd's locator plugin, where it is installed, is
    /// asked by libkrb5 before them.
    public let named: [String]
    /// Whether DNS is asked for others where none of these answers, or none is named. libkrb5 itself asks DNS only in the latter case, and
    /// so do stock programs; and never where krb5.conf says `dns_lookup_kdc = false`.
    public let asksDNS: Bool
}

/// How the KDCs of a realm are found.
enum KDCRoute: Sendable, Hashable {
    /// The preferred ones and krb5.conf's; where there are none, DNS.
    case configured
    /// DNS alone: krb5.conf, which may be one that was made from the profile, names none but the preferred ones.
    case discovered

    var other: KDCRoute { self == .configured ? .discovered : .configured }
}

/// Whose KDCs a route leads to.
enum KDCScope: Sendable, Hashable {
    /// Those of the client's own realm.
    case own
    /// Those of the realms that trusts lead to.
    case trusted
}

extension RealmConfiguration {
    /// The same, where libkrb5 finds the KDCs of these realms in DNS.
    func findingInDNS(_ realms: Set<String>) -> RealmConfiguration {
        var copy = self
        if realms.contains(realm) { copy.preferredKDCs = [] }
        copy.otherKDCs = otherKDCs.filter { !realms.contains($0.key) }
        copy.realmsWithoutKDCs = realms
        return copy
    }
}

extension Context {
    /// Whether krb5.conf lets DNS be asked for KDCs.
    func asksDNSForKDCs() throws(KerberosError) -> Bool {
        let words = try values(["libdefaults", "dns_lookup_kdc"]) + values(["libdefaults", "dns_fallback"])
        return words.first.map(Context.isTrue) ?? true
    }

    /// A boolean of krb5.conf, as libkrb5 reads it.
    static func isTrue(_ text: String) -> Bool { ["y", "yes", "true", "t", "1", "on"].contains(text.lowercased()) }
}

/// Whether a KDC has said anything during a call, also one that nobody waits for any more, and of what kind it was.
final class ReplyNote: Sendable {
    private let flag = Atomic(false)
    private let lastTag = Atomic<UInt8>(0)
    private let outer: ReplyNote?
    private let action: @Sendable () -> Void

    /// - Parameters:
    ///   - outer: One that notes the same for what this call is a part of.
    ///   - action: What to do with each reply, on the thread of the call.
    init(within outer: ReplyNote? = nil, _ action: @escaping @Sendable () -> Void = {}) {
        self.outer = outer
        self.action = action
    }

    var hasReply: Bool { flag.load(ordering: .acquiring) }

    /// Whether what came last was an initial ticket, readable or not (AS-REP, RFC 4120 section 5.4.2).
    var lastIsTicket: Bool { lastTag.load(ordering: .acquiring) == 0x6b }

    private func note(tag: UInt8) {
        lastTag.store(tag, ordering: .releasing)
        flag.store(true, ordering: .releasing)
        action()
        outer?.note(tag: tag)
    }

    /// libkrb5 calls it with what came from a KDC, or with why nothing came (`krb5_post_recv_fn`).
    fileprivate static let callback: krb5_post_recv_fn = { _, data, code, _, _, reply, _ in
        if code == 0, let reply, let data {
            let tag = reply.pointee.length > 0 ? reply.pointee.data.pointee : 0
            Unmanaged<ReplyNote>.fromOpaque(data).takeUnretainedValue().note(tag: UInt8(bitPattern: tag))
        }
        return code
    }
}

extension Context {
    /// Has the replies of KDCs noted from now on; nil ends it.
    func noteReplies(in note: ReplyNote?) {
        replies = note
        krb5_set_kdc_recv_hook(raw, note == nil ? nil : ReplyNote.callback, note.map { Unmanaged.passUnretained($0).toOpaque() })
    }
}
