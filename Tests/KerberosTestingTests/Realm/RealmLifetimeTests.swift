import Foundation
import KerberosTesting
import TestSupport
import Testing

@Suite struct RealmLifetimeTests {
    private struct Failure: Error {}

    @Test func `a realm leaves no folder or process when the body returns`() async throws {
        let directory = try await withTestRealm { realm in
            #expect(TestRealm.current?.directory == realm.directory)
            #expect(processes(of: realm.directory).count >= 2)
            return realm.directory
        }
        expectGone(directory)
        #expect(TestRealm.current == nil)
    }

    @Test func `a realm leaves no folder or process when the body throws`() async throws {
        var directory = ""
        await #expect(throws: Failure.self) {
            try await withTestRealm { realm in
                directory = realm.directory
                throw Failure()
            }
        }
        expectGone(directory)
    }

    @Test func `a realm leaves no folder or process when the task is cancelled`() async throws {
        let (directories, continuation) = AsyncStream.makeStream(of: String.self)
        let task = Task {
            try await withTestRealm(users: ["alice": "secret"]) { realm in
                try await realm.pauseKDC()
                continuation.yield(realm.directory)
                _ = try await realm.run("kinit", ["alice"], input: "secret\n")
                try Task.checkCancellation()
            }
        }
        let directory = try #require(await directories.first { _ in true })
        task.cancel()
        await #expect(throws: (any Error).self) { try await task.value }
        expectGone(directory)
    }

    @Test func `a cancelled body keeps its realm until it returns`() async throws {
        let (directories, continuation) = AsyncStream.makeStream(of: String.self)
        let (cancellations, cancelled) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await withTestRealm { realm in
                continuation.yield(realm.directory)
                await Task { for await _ in cancellations { break } }.value
                return (Task.isCancelled, processes(of: realm.directory).count)
            }
        }
        let directory = try #require(await directories.first { _ in true })
        task.cancel()
        cancelled.yield()
        let (isCancelled, count) = try await task.value
        #expect(isCancelled)
        #expect(count >= 2)
        expectGone(directory)
    }

    @Test func `a cancelled task starts no realm`() async throws {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await withTestRealm { $0.directory }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `a realm that is used after its scope throws an error`() async throws {
        let realm = try await withTestRealm { $0 }
        let error = await #expect(throws: KerberosTestingError.self) { try await realm.stopKDC() }
        #expect(error?.code == .scopeEnded)
    }

    @Test func `a realm that cannot start leaves no folder`() async throws {
        let error = await #expect(throws: KerberosTestingError.self) {
            try await withTestRealm(.init(name: "BROKEN.TEST", kdcRelations: ["master_key_type": "unknown"])) { _ in }
        }
        #expect(error?.code == .commandFailed)
        #expect(error?.message.contains("kdb5_util") == true)
        let parent = FileManager.default.temporaryDirectory
        let names = try FileManager.default.contentsOfDirectory(atPath: parent.path)
        for name in names where name.hasPrefix("kerberos-testing-") {
            let configuration = try? String(contentsOf: parent.appending(path: "\(name)/krb5.conf"), encoding: .utf8)
            #expect(configuration?.contains("BROKEN.TEST") != true)
        }
    }

    @Test func `many realms run concurrently`() async throws {
        try await withThrowingTaskGroup { group in
            for number in 0..<8 {
                group.addTask {
                    try await withTestRealm(.init(name: "R\(number).TEST", users: ["alice": "secret\(number)"])) { realm in
                        let login = try await realm.run("kinit", ["alice"], input: "secret\(number)\n")
                        #expect(login.exitStatus == 0, "\(login.errors)")
                        let list = try await realm.run("klist", []).output
                        #expect(list.contains("alice@R\(number).TEST"), "\(list)")
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `a missing program is reported with its package`() throws {
        let error = #expect(throws: KerberosTestingError.self) {
            try Program.path(of: "krb5kdc", environment: ["PATH": "/nonexistent"], systemFolders: [])
        }
        #expect(error?.code == .programMissing)
        #expect(error?.description.contains("apt-get install krb5-kdc") == true)
    }

    @Test func `programs are found without PATH`() throws {
        #expect(try Program.path(of: "krb5kdc", environment: [:]).hasSuffix("/krb5kdc"))
    }
}
