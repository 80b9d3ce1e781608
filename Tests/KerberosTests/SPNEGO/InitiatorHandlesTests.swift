import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@testable import Kerberos

@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"])) struct InitiatorHandlesTests {
    private static let service = "HTTP/www.example.test"

    @Test func `calls one after another use the same handle`() async throws {
        let realm = try TestRealm.required()
        let credential = try await realm.signIn().initiator(for: realm.principal(Self.service))
        let handles = credential.handles
        let used = (0..<5).map { _ in handles.withHandle { UInt(bitPattern: $0) } }
        #expect(Set(used).count == 1)
        #expect(handles.count == 1)
    }

    /// A thread that finds every handle in use gets one of its own, up to the limit.
    @Test func `simultaneous uses get a handle each`() async throws {
        let realm = try TestRealm.required()
        let handles = try await realm.signIn().initiator(for: realm.principal(Self.service)).handles
        let expected = min(2, InitiatorHandles.usualLimit)
        for _ in 0..<3 {
            let used = handles.withHandle { first in handles.withHandle { [UInt(bitPattern: first), UInt(bitPattern: $0)] } }
            #expect(Set(used).count == expected)
        }
        #expect(handles.count == expected)
    }

    @Test func `uses beyond the limit share a handle`() async throws {
        let realm = try TestRealm.required()
        let handles = try await realm.signIn().initiator(for: realm.principal(Self.service)).handles
        func use(_ depth: Int) -> Set<UInt> {
            handles.withHandle { handle in depth == 0 ? [] : use(depth - 1).union([UInt(bitPattern: handle)]) }
        }
        #expect(use(InitiatorHandles.usualLimit + 3).count <= InitiatorHandles.usualLimit)
        #expect(handles.count == InitiatorHandles.usualLimit)
    }

    /// Tokens of a later handle have the KDC's time too.
    @Test func `a handle that is created later has the clock offset`() async throws {
        let options = TestRealmOptions(users: ["alice": "secret"], services: [Self.service], clockOffset: .seconds(-3600))
        try await withTestRealm(options) { realm in
            let credential = try await realm.signIn().initiator(for: realm.principal(Self.service))
            let acceptor = try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled)
            for isFirst in [true, false] {
                let error = #expect(throws: KerberosError.self) {
                    if isFirst {
                        _ = try establish(credential, acceptor)
                    } else {
                        try credential.handles.withHandle { _ in Result { _ = try establish(credential, acceptor) } }.get()
                    }
                }
                #expect(error?.code == .clockSkew)
            }
            #expect(credential.handles.count == min(2, InitiatorHandles.usualLimit))
        }
    }
}
