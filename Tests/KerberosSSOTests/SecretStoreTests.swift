import Foundation
import KerberosSSO
import TestSupport
import Testing

@testable import Kerberos

private let isKeyringAvailable: Bool = {
    let name = "ksso-test:\(UUID().uuidString)"
    defer { _ = try? KernelKeyring.remove(name) }
    return (try? KernelKeyring.store(Secret("x"), named: name)) != nil
}()

/// The stores for passwords. Each test has its own principal because a user has one keyring.
@Suite struct SecretStoreTests {
    private let principal: Principal
    private let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path

    init() throws { principal = try Principal("user\(UUID().uuidString)@EXAMPLE.TEST") }

    private func withFolder(_ body: (CredentialsDirectoryStore) async throws -> Void) async throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let store = try #require(CredentialsDirectoryStore(environment: ["CREDENTIALS_DIRECTORY": folder]))
        defer {
            try? FileManager.default.removeItem(atPath: folder)
            _ = try? KernelKeyring.remove("ksso-passed-over:\(file)")
        }
        try await body(store)
    }

    private var file: String { "\(folder)/ksso.\(principal)" }

    private func deliver(_ content: String, mode: Int = 0o400) throws {
        try? FileManager.default.removeItem(atPath: file)
        #expect(FileManager.default.createFile(atPath: file, contents: Data(content.utf8), attributes: [.posixPermissions: mode]))
    }

    @Test(.enabled(if: isKeyringAvailable, "the kernel has no keyrings, or allows none here"))
    func `the kernel keyring stores, returns and removes a password`() async throws {
        let store = KernelKeyringStore()
        #expect(try await store.secret(for: principal) == nil)
        #expect(try await store.remove(principal) == false)
        for secret in [Secret("pass wörd"), Secret("another"), Secret(bytes: [UInt8](repeating: 7, count: 4096))] {
            _ = try await store.store(secret, for: principal)
            #expect(try await store.secret(for: principal) == secret)
        }
        // The key has permissions only for this user, none for group and others.
        let key = try #require(keys().first { $0.hasSuffix("ksso:\(principal): 4096") })
        #expect(key.contains(" 3f3f0000 "), "\(key)")
        #expect(try await store.remove(principal) == true)
        #expect(try await store.secret(for: principal) == nil)
        await #expect(throws: KerberosError.self) {
            _ = try await store.store(Secret(bytes: [UInt8](repeating: 7, count: 4097)), for: principal)
        }
    }

    /// The lines of `/proc/keys`: the keys that this process may see.
    private func keys() throws -> [String] {
        let descriptor = open("/proc/keys", O_RDONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        return try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).readToEnd()
            .map { String(decoding: $0, as: UTF8.self).split(separator: "\n").map(String.init) } ?? []
    }

    @Test(arguments: ["pass wörd", "pass wörd\n", "pass wörd\r\n"])
    func `a password in systemd's credentials directory is read without its line end`(content: String) async throws {
        try await withFolder { store in
            #expect(try await store.secret(for: principal) == nil)
            try deliver(content)
            #expect(try await store.secret(for: principal) == Secret("pass wörd"))
            let error = await kerberosError { _ = try await store.store(Secret("x"), for: principal) }
            #expect(error?.code == .secretStoreUnusable)
        }
    }

    @Test(.enabled(if: isKeyringAvailable, "the kernel has no keyrings, or allows none here"))
    func `a removed password is ignored until systemd delivers a new file`() async throws {
        try await withFolder { store in
            try deliver("old")
            #expect(try await store.remove(principal) == true)
            #expect(try await store.secret(for: principal) == nil)
            #expect(try await store.remove(principal) == false)
            let other = try #require(CredentialsDirectoryStore(environment: ["CREDENTIALS_DIRECTORY": folder]))
            #expect(try await other.secret(for: principal) == nil)
            try FileManager.default.moveItem(atPath: file, toPath: file + ".old")  // otherwise its inode number may be reused
            try deliver("new")
            #expect(try await store.secret(for: principal) == Secret("new"))
        }
    }

    @Test(arguments: [0o444, 0o404, 0o420, 0o402])
    func `a credential file that other users can access is rejected`(mode: Int) async throws {
        try await withFolder { store in
            try deliver("secret", mode: mode)
            #expect(await kerberosError { _ = try await store.secret(for: principal) }?.code == .secretStoreUnusable)
        }
    }

    @Test func `a symbolic link or an oversized credential file is rejected`() async throws {
        try await withFolder { store in
            try deliver("secret")
            try FileManager.default.moveItem(atPath: file, toPath: "\(folder)/elsewhere")
            try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "\(folder)/elsewhere")
            #expect(await kerberosError { _ = try await store.secret(for: principal) }?.code == .secretStoreUnusable)
            try FileManager.default.removeItem(atPath: file)
            try deliver(String(repeating: "x", count: 4097))
            #expect(await kerberosError { _ = try await store.secret(for: principal) }?.code == .secretStoreUnusable)
            // No principal name leads out of the directory.
            #expect(try await store.secret(for: Principal("a/../../b@EXAMPLE.TEST")) == nil)
        }
    }

    @Test(arguments: [[:], ["CREDENTIALS_DIRECTORY": ""], ["CREDENTIALS_DIRECTORY": "relative"]])
    func `without an absolute CREDENTIALS_DIRECTORY there is no store`(environment: [String: String]) {
        #expect(CredentialsDirectoryStore(environment: environment) == nil)
    }
}
