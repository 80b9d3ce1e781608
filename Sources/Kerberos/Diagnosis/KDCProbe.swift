internal import CKerberos

internal import struct Foundation.Date

/// One request for a ticket-granting ticket, without a password, that is sent to KDCs to see whether they answer.
///
/// libkrb5 makes the request; it is sent over sockets of our own, to one address by one transport, so that a KDC that is dead is told from
/// one that another KDC stood in for. It is no failed attempt to sign in: nothing in it proves anything.
package struct KDCProbe: Sendable {
    /// How a KDC is spoken to.
    package enum Transport: String, Sendable, Hashable, CaseIterable {
        case udp = "UDP"
        case tcp = "TCP"
    }

    /// What became of a request.
    package enum Outcome: Sendable {
        case answered(Answer)
        /// Nothing listens there.
        case refused
        /// Nothing came in time.
        case noAnswer
        /// There is no way there; the system's word for it.
        case unreachable(String)
        /// Something came that is no answer of a KDC.
        case notKerberos
    }

    /// What a KDC said.
    package struct Answer: Sendable {
        /// How long it took.
        package let latency: Duration
        /// By how many seconds the KDC's clock is ahead of this machine's; nil where the answer does not tell.
        package let clockOffset: Double?
        /// Why this principal gets no ticket, such as an account that is locked. That a password is wanted is no refusal.
        package let refusal: KerberosError?
    }

    /// Whom the request is for.
    package let principal: Principal
    let message: [UInt8]

    /// Sends it to a host by its address, and waits so long for an answer.
    package func ask(_ address: String, port: UInt16, by transport: Transport, within limit: Duration) async -> Outcome {
        await BlockingCall.run {
            let clock = ContinuousClock()
            let start = clock.now
            let reply: [UInt8]
            switch KDCSocket.exchange(message, with: address, port: port, by: transport, until: start.advanced(by: limit)) {
            case .success(let bytes): reply = bytes
            case .failure(.refused): return .refused
            case .failure(.noAnswer): return .noAnswer
            case .failure(.other(let number)): return .unreachable(String(cString: strerror(number)))
            }
            return outcome(of: reply, latency: start.duration(to: clock.now), at: Date())
        }
    }

    /// KRB-ERROR tells the KDC's time (RFC 4120 section 5.9.1); AS-REP is for the password's owner alone.
    func outcome(of reply: [UInt8], latency: Duration, at now: Date) -> Outcome {
        let ticket: UInt8 = 0x6B
        let error: UInt8 = 0x7E
        switch reply.first {
        case ticket: return .answered(Answer(latency: latency, clockOffset: nil, refusal: nil))
        case error: break
        default: return .notKerberos
        }
        guard let context = try? Context(RealmConfiguration(realm: "", base: .none)), let said = KDCRefusal(reply, context: context) else {
            return .notKerberos
        }
        return .answered(
            Answer(
                latency: latency,
                clockOffset: said.time.map { $0.timeIntervalSince(now) },
                refusal: said.error(of: principal, context: context)
            )
        )
    }
}

extension KerberosClient {
    /// Makes the request that a sign-in of a principal begins with; nothing is sent.
    package func probe(for principal: Principal) async throws(KerberosError) -> KDCProbe {
        try await perform { context throws(KerberosError) in
            let message = try principal.withRaw(in: context) { client throws(KerberosError) in
                var exchange: krb5_init_creds_context?
                try context.check(
                    krb5_init_creds_init(context.raw, client, nil, nil, 0, nil, &exchange),
                    .signIn,
                    subject: principal.description
                )
                defer { krb5_init_creds_free(context.raw, exchange) }
                var nothing = krb5_data()
                var request = krb5_data()
                var realm = krb5_data()
                var flags: UInt32 = 0
                let status = krb5_init_creds_step(context.raw, exchange, &nothing, &request, &realm, &flags)
                try context.check(status, .signIn, subject: principal.description)
                defer {
                    krb5_free_data_contents(context.raw, &request)
                    krb5_free_data_contents(context.raw, &realm)
                }
                return Array(UnsafeRawBufferPointer(start: request.data, count: Int(request.length)))
            }
            return KDCProbe(principal: principal, message: message)
        }
    }
}
