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
