import CKerberos
import Foundation
import Testing

@testable import KCM
@testable import Kerberos

/// What libkrb5 itself does when the server does not search a large cache to its end.
struct LongSearchTests {
    /// Returns the server of the first ticket for a client, as libkrb5 finds it in the default cache.
    private func server(ofTicketFor client: String, _ configuration: RealmConfiguration) throws -> String {
        let context = try Context(configuration)
        var cache: krb5_ccache?
        try context.check(krb5_cc_resolve(context.raw, "KCM:", &cache), .readCache, subject: "KCM:")
        let open = try #require(cache)
        defer { krb5_cc_close(context.raw, open) }
        var (pattern, found) = (krb5_creds(), krb5_creds())
        try context.check(krb5_parse_name(context.raw, client, &pattern.client), .readCache, subject: client)
        defer { krb5_free_principal(context.raw, pattern.client) }
        try context.check(krb5_cc_retrieve_cred(context.raw, open, 0, &pattern, &found), .readCache, subject: client)
        defer { krb5_free_cred_contents(context.raw, &found) }
        var name: UnsafeMutablePointer<CChar>?
        try context.check(krb5_unparse_name(context.raw, found.server, &name), .readCache, subject: client)
        defer { krb5_free_unparsed_name(context.raw, name) }
        return String(cString: try #require(name))
    }

    @Test func `libkrb5 lists a cache whose search reached the comparison limit, and finds the ticket`() async throws {
        try await withServer { running in
            try await withConnection(running.path) { connection async throws in
                let tickets = (0..<1500).map { Sample.ticket($0) } + [Sample.ticket(1500, client: Sample.bob)]
                #expect(try await connection.code(.replace, "", replacement(tickets)) == .ok)
                let pattern = Fields(client: Sample.bob, server: nil).patternBytes()
                #expect(try await connection.code(.retrieve, "", pattern) == .unsupported)
            }
            let file = "\(running.folder)/krb5.conf"
            let text = "[libdefaults]\n    kcm_socket = \(running.path)\n    default_realm = EXAMPLE.TEST\n"
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            let configuration = RealmConfiguration(realm: "EXAMPLE.TEST", base: .files([file]))
            #expect(try server(ofTicketFor: "bob@EXAMPLE.TEST", configuration) == "HTTP/server1500@EXAMPLE.TEST")
        }
    }
}
