extension KerberosClient {
    /// Runs a call that may ask a KDC, within the deadline. Where DNS comes after the preferred KDCs each of the two has half of the deadline;
    /// the default one each has for itself.
    ///
    /// Only a call in which no KDC has said anything is made again: after a KDC's first word the password is on its way, and a wrong one is
    /// counted each time.
    func performOnNetwork<Value: Sendable>(
        subject: String,
        deadline limit: Duration?,
        _ body: @escaping @Sendable (Context, CallDeadline) throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        do throws(KerberosError) {
            var asksDNS = false
            if !configuration.preferredKDCs.isEmpty { asksDNS = try await kdcOrder().asksDNS }
            guard asksDNS else {
                return try await performByOneRoute(subject: subject, deadline: limit, body)
            }
            return try await performByBothRoutes(subject: subject, deadline: limit.map { $0 / 2 }, body)
        } catch {
            throw error.namingMissingPlugin(for: configuration)
        }
    }

    private func performByBothRoutes<Value: Sendable>(
        subject: String,
        deadline limit: Duration?,
        _ body: @escaping @Sendable (Context, CallDeadline) throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        let route = firstRoute()
        let replies = ReplyNote()
        let first: KerberosError
        do throws(KerberosError) {
            return try await performByOneRoute(subject: subject, deadline: limit) { context, deadline throws(KerberosError) in
                context.noteReplies(in: replies)
                defer { context.noteReplies(in: nil) }
                return try body(context, deadline)
            }
        } catch  where error.isOfReach && !replies.hasReply {
            first = error
        }
        take(route.other)
        do throws(KerberosError) {
            return try await performByOneRoute(subject: subject, deadline: limit, body)
        } catch  where error.isOfReach {
            take(.configured)
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

    private func adding(_ sentence: String) -> KerberosError {
        KerberosError(
            code,
            subject: subject,
            message: "\(message) \(sentence)",
            libraryCode: libraryCode,
            libraryMessage: libraryMessage
        )
    }
}
