internal import CKerberos
internal import SystemSupport

internal import struct Foundation.Date

/// A request for a ticket-granting ticket, without a password, that tests whether KDCs answer.
///
/// libkrb5 creates the request. The probe sends it over its own sockets, to one address by one transport, so that no other KDC hides an
/// unreachable one. It does not count as a failed sign-in, because it contains no pre-authentication.
package struct KDCProbe: Sendable {
    /// The transport protocol.
    package enum Transport: String, Sendable, Hashable, CaseIterable {
        case udp = "UDP"
        case tcp = "TCP"
    }

    /// The result of a request.
    package enum Outcome: Sendable {
        case answered(Answer)
        /// Nothing listens on the port.
        case refused
        /// No reply came in time.
        case noAnswer
        /// The network is unreachable; the value is the system's error message.
        case unreachable(String)
        /// The reply is not from a KDC.
        case notKerberos
    }

    /// A KDC's reply.
    package struct Answer: Sendable {
        /// The time until the reply came.
        package let latency: Duration
        /// How many seconds the KDC's clock is ahead of this machine's; nil if the reply does not contain the time.
        package let clockOffset: Double?
        /// Why this principal gets no ticket, such as a locked account. A request for pre-authentication is not a refusal.
        package let refusal: KerberosError?
        /// Whether the KDC accepts certificates of the principal; nil if the reply does not say so.
        package let acceptsCertificates: Bool?
    }

    /// PA-PK-AS-REQ, the mechanism of certificates (RFC 4556 section 3.1.2).
    private static let certificates = 16
    /// The client in the request.
    package let principal: Principal
    let message: [UInt8]

    /// Sends the request to an IP address and waits for a reply, at most as long as the limit.
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

    /// KRB-ERROR contains the KDC's time (RFC 4120 section 5.9.1); only the owner of the password can read an AS-REP.
    func outcome(of reply: [UInt8], latency: Duration, at now: Date) -> Outcome {
        let ticket: UInt8 = 0x6B
        let error: UInt8 = 0x7E
        switch reply.first {
        case ticket: return .answered(Answer(latency: latency, clockOffset: nil, refusal: nil, acceptsCertificates: nil))
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
                refusal: said.error(of: principal, context: context),
                acceptsCertificates: said.mechanisms?.contains(Self.certificates)
            )
        )
    }
}

extension KerberosClient {
    /// Creates the first request of a sign-in, without sending it.
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

extension KDCProbe {
    /// The request for a KDC proxy: the body of a POST of `application/kerberos`.
    package var proxyRequest: [UInt8] { KDCProxyMessage.encoded(message, realm: principal.realm) }

    /// Whether libkrb5 can reach a KDC proxy: Debian packages the required plugin separately.
    package static var libraryReachesProxies: Bool { LibraryPlugin.tls.isInstalled }

    /// Evaluates a KDC proxy's response.
    package func outcome(ofProxyAnswer answer: [UInt8], latency: Duration) async -> Outcome {
        await BlockingCall.run {
            guard let reply = KDCProxyMessage.message(in: answer) else { return .notKerberos }
            return outcome(of: reply, latency: latency, at: Date())
        }
    }
}

/// Encodes requests to a KDC proxy and decodes its responses ([MS-KKDCP] section 2.2.2), in DER:
/// `SEQUENCE { kerb-message [0] OCTET STRING, target-domain [1] Realm OPTIONAL, dclocator-hint [2] INTEGER OPTIONAL }`.
enum KDCProxyMessage {
    private static let generalString: UInt8 = 0x1B

    /// Encodes a message for a realm's KDC, preceded by its length as over TCP.
    static func encoded(_ message: [UInt8], realm: String) -> [UInt8] {
        let count = withUnsafeBytes(of: UInt32(message.count).bigEndian) { Array($0) }
        let content =
            BasicEncoding.element(BasicEncoding.context(0), BasicEncoding.element(BasicEncoding.octetString, count + message))
            + BasicEncoding.element(BasicEncoding.context(1), BasicEncoding.element(generalString, Array(realm.utf8)))
        return BasicEncoding.element(BasicEncoding.sequence, content)
    }

    /// Extracts the KDC's message from a response; nil if there is none. The bytes are untrusted.
    static func message(in answer: [UInt8]) -> [UInt8]? {
        guard let whole = BasicEncoding.content(of: answer[...], BasicEncoding.sequence),
            let field = BasicEncoding.content(of: whole, BasicEncoding.context(0)),
            let framed = BasicEncoding.content(of: field, BasicEncoding.octetString), framed.count > 4
        else { return nil }
        let count = framed.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        return count == framed.count - 4 ? Array(framed.dropFirst(4)) : nil
    }
}

/// A KRB-ERROR message from a KDC (RFC 4120 section 5.9.1).
struct KDCRefusal {
    /// The KDC's time.
    let time: Date?
    /// The numbers of the mechanisms that the KDC accepts, if it requests pre-authentication (METHOD-DATA, RFC 4120 section 5.9.1).
    let mechanisms: [Int]?
    private let code: Int32

    init?(_ message: [UInt8], context: Context) {
        var error: UnsafeMutablePointer<krb5_error>?
        let status = message.withUnsafeBufferPointer { buffer in
            var data = krb5_data()
            data.length = UInt32(buffer.count)
            data.data = UnsafeMutableRawPointer(mutating: buffer.baseAddress)?.assumingMemoryBound(to: CChar.self)
            return krb5_rd_error(context.raw, &data, &error)
        }
        guard status == 0, let error else { return nil }
        defer { krb5_free_error(context.raw, error) }
        // libkrb5 stores unsigned seconds, which last until 2106.
        let seconds = UInt32(bitPattern: error.pointee.stime)
        time = seconds == 0 ? nil : Date(timeIntervalSince1970: Double(seconds) + Double(error.pointee.susec) / 1_000_000)
        code = Int32(truncatingIfNeeded: error.pointee.error)
        let data = error.pointee.e_data
        let bytes = data.data.map { Array(UnsafeRawBufferPointer(start: $0, count: Int(data.length))) }
        mechanisms = code == 25 ? bytes.flatMap(Self.mechanisms) : nil
    }

    /// Reads `SEQUENCE OF SEQUENCE { padata-type [1] Int32, padata-value [2] OCTET STRING }`; nil if it is malformed.
    static func mechanisms(in data: [UInt8]) -> [Int]? {
        guard var list = BasicEncoding.content(of: data[...], BasicEncoding.sequence) else { return nil }
        var numbers: [Int] = []
        while !list.isEmpty {
            guard let entry = BasicEncoding.next(in: &list, BasicEncoding.sequence),
                let type = BasicEncoding.content(of: entry, BasicEncoding.context(1)),
                let number = BasicEncoding.content(of: type, BasicEncoding.integer), 1...4 ~= number.count
            else { return nil }
            let isNegative = number.first.map { $0 > 127 } ?? false
            numbers.append(number.reduce(isNegative ? -1 : 0) { $0 << 8 | Int($1) })
        }
        return numbers
    }

    /// The error for a principal; nil if the KDC only requests pre-authentication (25), more of it (91), or TCP (52).
    func error(of principal: Principal, context: Context) -> KerberosError? {
        guard ![25, 91, 52].contains(code) else { return nil }
        let status = krb5_error_code(truncatingIfNeeded: Int(KRB5KDC_ERR_NONE) + Int(code))
        return .library(status, .signIn, subject: principal.description, context: context.raw)
    }
}
