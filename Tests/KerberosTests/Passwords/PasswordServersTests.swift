import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@testable import Kerberos

/// Whether a password server of a realm is known before the user is asked for passwords.
@Suite(.testRealm(), .timeLimit(.minutes(5))) struct PasswordServersTests {
    /// Asks with a krb5.conf that names no server and forbids DNS.
    private func knowsServer(_ directory: String, _ lines: String = "") async throws -> Bool {
        let text = "[libdefaults]\ndns_lookup_kdc = false\nplugin_base_dir = \(directory)\n\(lines)"
        let path = "\(directory)/krb5.conf"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return try await KerberosClient(RealmConfiguration(realm: "OTHER.TEST", base: .files([path]))).knowsPasswordServer()
    }

    private func newDirectory() throws -> String {
        let directory = try TestRealm.required().newPath()
        try FileManager.default.createDirectory(atPath: "\(directory)/libkrb5", withIntermediateDirectories: true)
        return directory
    }

    /// A machine with sssd or winbind has such a plugin.
    @Test(.enabled(if: !LibraryPlugin.hasServerLocator)) func `no server is known without DNS and plugins`() async throws {
        #expect(try await !knowsServer(newDirectory()))
    }

    @Test func `any plugin in the directory of locate plugins may know a server`() async throws {
        let directory = try newDirectory()
        try Data().write(to: URL(fileURLWithPath: "\(directory)/libkrb5/own_locator.so"))
        #expect(try await knowsServer(directory))
    }

    @Test func `a locate module in krb5.conf may know a server`() async throws {
        #expect(try await knowsServer(newDirectory(), "[plugins]\nlocate = {\n  module = own:/nonexistent/own.so\n}\n"))
    }
}

extension LibraryPlugin {
    /// Whether this machine has a plugin that may locate servers.
    fileprivate static var hasServerLocator: Bool {
        guard let context = try? Context(RealmConfiguration(realm: "", base: .none)) else { return false }
        return mayLocateServers(in: context)
    }
}
