import Foundation
import KerberosTesting
import KerberosTestingTraits
import SystemSupport
import TestSupport
import Testing

@testable import Kerberos

/// Probes: requests without a password to one KDC over one transport.
@Suite(.testRealm(users: ["alice": "secret", "locked": "secret", "old": "secret"])) struct KDCProbeTests {
    private static let limit = Duration.seconds(60)
    private let realm: TestRealm

    init() throws { realm = try TestRealm.required() }

    private func ask(
        _ transport: KDCProbe.Transport,
        _ name: String = "alice",
        of realm: TestRealm,
        within limit: Duration = limit
    ) async throws -> KDCProbe.Outcome {
        let probe = try await realm.client.probe(for: Principal(name, defaultRealm: realm.name))
        return await probe.ask("127.0.0.1", port: UInt16(realm.kdcPort), by: transport, within: limit)
    }

    private func answer(_ outcome: KDCProbe.Outcome) throws -> KDCProbe.Answer {
        guard case .answered(let answer) = outcome else { throw Unanswered(outcome: "\(outcome)") }
        return answer
    }

    private struct Unanswered: Error { let outcome: String }

    @Test(arguments: KDCProbe.Transport.allCases) func `a probe is answered without a password and counts no failed attempt`(
        transport: KDCProbe.Transport
    ) async throws {
        let answer = try answer(try await ask(transport, of: realm))
        #expect(answer.refusal == nil)
        #expect(abs(try #require(answer.clockOffset)) < 60)
        #expect(try await realm.failedAttempts(of: "alice") == 0)
        #expect(try realm.issued(.initialTicket, client: "alice") == 0)
    }

    @Test func `a KDC without certificates says so`() async throws {
        #expect(try answer(try await ask(.tcp, of: realm)).acceptsCertificates == false)
        #expect(try answer(try await ask(.tcp, "nobody", of: realm)).acceptsCertificates == nil, "the principal is unknown")
    }

    /// METHOD-DATA with the mechanisms 2, 16 and -1, and damaged ones.
    @Test func `the mechanisms of a KDC are read, and a damaged list is rejected`() {
        let entries: [[UInt8]] = [[0xA1, 3, 2, 1, 2], [0xA1, 3, 2, 1, 16, 0xA2, 2, 4, 0], [0xA1, 3, 2, 1, 0xFF]]
        let list = BasicEncoding.element(0x30, entries.flatMap { BasicEncoding.element(0x30, $0) })
        #expect(KDCRefusal.mechanisms(in: list) == [2, 16, -1])
        #expect(KDCRefusal.mechanisms(in: [0x30, 0]) == [])
        for length in list.indices { #expect(KDCRefusal.mechanisms(in: Array(list.prefix(length))) == nil) }
        for bytes: [UInt8] in [[0x30, 5, 0x30, 3, 0xA1, 1, 2], [0x30, 6, 0x30, 4, 0xA1, 2, 2, 0], [0x31, 0], [0x30, 2, 5, 0]] {
            #expect(KDCRefusal.mechanisms(in: bytes) == nil, "\(bytes)")
        }
    }

    /// Acts as a KDC proxy: extracts the message, sends it to the KDC over TCP, and wraps the reply.
    @Test func `a probe reaches a KDC behind a proxy`() async throws {
        let probe = try await realm.client.probe(for: Principal("alice", defaultRealm: realm.name))
        let message = try #require(KDCProxyMessage.message(in: probe.proxyRequest))
        #expect(message == probe.message)
        let port = UInt16(realm.kdcPort)
        let reply = await BlockingCall.run {
            KDCSocket.exchange(message, with: "127.0.0.1", port: port, by: .tcp, until: .now.advanced(by: Self.limit))
        }
        let wrapped = KDCProxyMessage.encoded(try reply.get(), realm: realm.name)
        let answer = try answer(await probe.outcome(ofProxyAnswer: wrapped, latency: .seconds(1)))
        #expect(answer.latency == .seconds(1) && answer.refusal == nil)
        #expect(abs(try #require(answer.clockOffset)) < 60)
    }

    /// The expected bytes agree with `openssl asn1parse`. The length of a long message takes two bytes.
    @Test func `a KDC proxy message is DER, and a damaged one is rejected`() async throws {
        #expect(
            KDCProxyMessage.encoded([1, 2, 3], realm: "A.TEST")
                == [0x30, 21, 0xA0, 9, 0x04, 7, 0, 0, 0, 3, 1, 2, 3, 0xA1, 8, 0x1B, 6] + Array("A.TEST".utf8)
        )
        let long = [UInt8](repeating: 7, count: 300)
        let encoded = KDCProxyMessage.encoded(long, realm: "A.TEST")
        #expect(encoded.prefix(12) == [0x30, 0x82, 1, 66, 0xA0, 0x82, 1, 52, 0x04, 0x82, 1, 48])
        #expect(KDCProxyMessage.message(in: encoded) == long)
        for length in encoded.indices { #expect(KDCProxyMessage.message(in: Array(encoded.prefix(length))) == nil) }
        for index in encoded.indices {
            for value: UInt8 in [0, 0x7F, 0x80, 0x84, 0xFF] {
                var broken = encoded
                broken[index] = value
                #expect(KDCProxyMessage.message(in: broken).map { $0.count == 300 } ?? true)
            }
        }
    }

    @Test func `a probe reports an unknown principal`() async throws {
        #expect(try answer(try await ask(.tcp, "nobody", of: realm)).refusal?.code == .unknownPrincipal)
    }

    @Test func `a probe reports a disabled account`() async throws {
        _ = try await realm.kadmin(["modify_principal", "-allow_tix", "locked"])
        #expect(try answer(try await ask(.tcp, "locked", of: realm)).refusal?.code == .accountLocked)
    }

    @Test func `a probe reports an expired password`() async throws {
        _ = try await realm.kadmin(["modify_principal", "-pwexpire", "yesterday", "old"])
        #expect(try answer(try await ask(.tcp, "old", of: realm)).refusal?.code == .passwordExpired)
    }

    @Test func `a probe of an account without pre-authentication succeeds without a clock offset`() async throws {
        try await withTestRealm(TestRealmOptions(users: ["alice": "secret"], requiresPreauthentication: false)) { realm in
            let answer = try answer(try await ask(.udp, of: realm))
            #expect(answer.refusal == nil)
            #expect(answer.clockOffset == nil)
        }
    }

    @Test(arguments: [3600, -7200]) func `a probe measures the offset of the KDC's clock`(seconds: Int) async throws {
        try await withTestRealm(TestRealmOptions(users: ["alice": "secret"], clockOffset: .seconds(seconds))) { realm in
            let offset = try #require(try answer(try await ask(.tcp, of: realm)).clockOffset)
            #expect(abs(offset - Double(seconds)) < 60)
        }
    }

    @Test(arguments: KDCProbe.Transport.allCases) func `a probe of a closed port is refused`(transport: KDCProbe.Transport) async throws {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            try await realm.stopKDC()
            guard case .refused = try await ask(transport, of: realm) else {
                Issue.record("The closed port does not refuse the probe.")
                return
            }
        }
    }

    @Test(arguments: KDCProbe.Transport.allCases) func `a probe of a KDC that drops requests gets no answer`(transport: KDCProbe.Transport)
        async throws
    {
        try await withTestRealm(users: ["alice": "secret"]) { realm in
            try await realm.pauseKDC()
            guard case .noAnswer = try await ask(transport, of: realm, within: .milliseconds(100)) else {
                Issue.record("The paused KDC answers.")
                return
            }
            try await realm.resumeKDC()
        }
    }

    @Test func `a probe recognizes an answer that is not Kerberos`() async throws {
        try await ScriptedServer.run({ _ in .drop }, greeting: "\0\0\0\u{5}hello") { server in
            let probe = try await realm.client.probe(for: Principal("alice", defaultRealm: realm.name))
            guard case .notKerberos = await probe.ask("127.0.0.1", port: UInt16(server.port), by: .tcp, within: Self.limit) else {
                Issue.record("The answer is accepted as Kerberos.")
                return
            }
        }
    }

    @Test func `the clock tolerance is that of krb5.conf, by default 300 seconds`() async throws {
        #expect(try await realm.client.clockTolerance() == 300)
        let path = try realm.writeConfiguration("[libdefaults]\n clockskew = 60\n")
        let other = KerberosClient(RealmConfiguration(realm: "OTHER.TEST", base: .files([path])))
        #expect(try await other.clockTolerance() == 60)
    }
}
