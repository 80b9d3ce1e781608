import Foundation
import NIOCore
import TestSupport
import Testing

@testable import KCM

/// How the store handles an unusable directory, a full disk and a killed process.
@Suite(.timeLimit(.minutes(15))) struct StorageFaultTests {
    private func code(_ path: String) -> StorageError.Code? {
        do { _ = try KCMServer(KCMServer.Options.forEveryone(directory: path)) } catch { return error.code }
        return nil
    }

    @Test(arguments: [0o750, 0o705, 0o777]) func `a directory that other users can access is refused`(mode: Int) async throws {
        try await withFolder { folder in
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder)
            #expect(code(folder) == .wrongMode)
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder)
            #expect(code(folder) == nil)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a directory away"))
    func `a directory owned by another user is refused`() async throws {
        try await withFolder { folder in
            #expect(chown(folder, 12345, 12345) == 0)
            #expect(code(folder) == .wrongOwner)
        }
    }

    @Test func `a file, a link or a missing path is refused as the directory`() async throws {
        try await withFolder { folder in
            try "".write(toFile: "\(folder)/file", atomically: false, encoding: .utf8)
            try FileManager.default.createSymbolicLink(atPath: "\(folder)/link", withDestinationPath: folder)
            #expect(code("\(folder)/file") == .notADirectory)
            #expect(code("\(folder)/link") == .notADirectory)
            #expect(code("\(folder)/no/directory") == .system(ENOENT))
        }
    }

    @Test func `a second server cannot use the same directory`() async throws {
        try await withFolder { folder in
            let first = try KCMServer(KCMServer.Options.forEveryone(directory: folder))
            #expect(code(folder) == .inUse)
            await first.shutDown()
            #expect(code(folder) == nil)
        }
    }

    /// The limit on a file's size simulates a full disk without root's rights: one write is short, and the next one fails.
    @Test(.exitTest) func `a write above the file size limit changes nothing`() async throws {
        try await withFolder { folder in
            await #expect(processExitsWith: .success) { [folder = folder as String] in
                signal(SIGXFSZ, SIG_IGN)
                var limit = rlimit()
                let fileSize = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
                check(getrlimit(fileSize, &limit) == 0)
                limit.rlim_cur = 8192
                check(setrlimit(fileSize, &limit) == 0)
                try checkThatAFullDiskChangesNothing(in: folder)
                limit.rlim_cur = limit.rlim_max
                check(setrlimit(fileSize, &limit) == 0)
                var disk = try Disk(folder)
                check(disk.send(.store, "", Sample.ticket(1000).bytes) == .ok)
                endChildProcess()
            }
        }
    }

    @Test(.exitTest, .enabled(if: geteuid() == 0, "only root can mount a small disk")) func `a write to a full disk changes nothing`()
        async throws
    {
        try await withFolder { folder in
            await #expect(processExitsWith: .success) { [folder = folder as String] in
                // The mount is in this thread's namespace and ends with the process.
                check(leaveMountNamespace() == 0)
                check(mount("none", "/", nil, UInt(MS_REC | MS_PRIVATE), nil) == 0)
                check(mount("none", folder, "tmpfs", 0, "size=64k,mode=0700") == 0)
                try checkThatAFullDiskChangesNothing(in: folder)
                endChildProcess()
            }
        }
    }

    @Test(.exitTest) func `tickets acknowledged before the server is killed are restored`() async throws {
        try await withFolder { folder in
            async let end: Void = {
                await #expect(processExitsWith: .signal(SIGKILL)) { [folder = folder as String] in
                    let server = try KCMServer(KCMServer.Options.forEveryone(directory: "\(folder)/caches"))
                    try await server.serve(try ListeningSocket.bind(path: "\(folder)/kcm.sock"))
                    // Serves until it is killed.
                    for await _ in AsyncStream<Never>.makeStream().stream {}
                    withExtendedLifetime(server) {}
                }
            }()
            let path = "\(folder)/kcm.sock"
            #expect(try await comesTrue { (try? await withConnection(path) { try await $0.code(.noOperation) }) == .ok })
            let stored = try await withThrowingTaskGroup(of: (String, Int).self) { group in
                for name in ["a", "b", "c"] {
                    group.addTask { (name, try await storeUntilTheEnd(path, name, killAfter: name == "b" ? 150 : nil)) }
                }
                return try await group.reduce(into: [String: Int]()) { $0[$1.0] = $1.1 }
            }
            await end
            let server = try KCMServer(KCMServer.Options.forEveryone(directory: "\(folder)/caches"))
            let second = "\(folder)/second.sock"
            try await server.serve(try ListeningSocket.bind(path: second))
            try await withConnection(second) { connection async throws in
                for (name, count) in stored {
                    let reply = try #require(try await connection.request(.credentialList, name))
                    try #require(reply.code == .ok)
                    var reader = ByteReader(reply.body)
                    let found = Int(try reader.number("count", as: UInt32.self))
                    // At most the request that was in flight is stored without an acknowledgement.
                    #expect(found == count || found == count + 1)
                    for number in 0..<found { #expect(Array(try reader.countedBytes("ticket")) == largeTicket(number).bytes) }
                }
            }
            await server.shutDown()
        }
    }
}

/// A ticket of several disk pages, so that a kill can interrupt a write.
private func largeTicket(_ number: Int) -> Fields {
    Sample.ticket(number, end: .max).with { $0.ticket = [UInt8](repeating: UInt8(number & 0xFF), count: 20_000) }
}

/// Stores tickets one by one, and kills the server after `killAfter` of them; returns how many were acknowledged.
///
/// Another client may be far ahead of the one that kills the server, so each stores at most 400 of them, which one reply can list.
private func storeUntilTheEnd(_ path: String, _ name: String, killAfter: Int?) async throws -> Int {
    try await withConnection(path) { connection async throws in
        #expect(try await connection.code(.initialize, name, Sample.alice) == .ok)
        var count = 0
        while count < 400 {
            if count == killAfter {
                // The next request is in flight when the server is killed.
                try await connection.send(requestBytes(.store, name, largeTicket(count).bytes))
                let peer = try await connection.channel.eventLoop.submit { [channel = connection.channel] in PeerCredential(channel) }.get()
                kill(try #require(peer).processID, SIGKILL)
            } else {
                do { try await connection.send(requestBytes(.store, name, largeTicket(count).bytes)) } catch { return count }
            }
            guard let reply = try await connection.reply() else { return count }
            #expect(reply == Reply())
            count += 1
        }
        return count
    }
}

/// Ends an exit test's process with a failure if a condition is false.
private func check(_ isTrue: Bool, line: Int = #line) {
    if !isTrue { fatalError("line \(line)") }
}

/// `unshare(CLONE_NEWNS)`, which Glibc's module does not declare.
private func leaveMountNamespace() -> CInt {
    guard let function = dlsym(nil, "unshare") else { return -1 }
    return unsafeBitCast(function, to: (@convention(c) (CInt) -> CInt).self)(0x20000)
}

/// Fills the disk and checks that each kind of request that fails changes nothing.
private func checkThatAFullDiskChangesNothing(in folder: String) throws {
    var disk = try Disk(folder)
    check(disk.send(.initialize, "", Sample.alice) == .ok)
    var number = 0
    while disk.send(.store, "", Sample.ticket(number).with { $0.ticket = [UInt8](repeating: 7, count: 1500) }.bytes) == .ok { number += 1 }
    check(number >= 4)
    let before = disk.state
    let large = Sample.ticket(1).with { $0.ticket = [UInt8](repeating: 8, count: 100_000) }
    let failing: [(KCM.Operation, String, [UInt8])] = [
        (.store, "", large.bytes), (.replace, "", replacement([large])), (.replace, "new", replacement([large])),
    ]
    for (operation, name, body) in failing {
        check(disk.send(operation, name, body) == .writeFailed)
        check(disk.state == before)
        check(try Disk(folder).state == before)
        check(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
    }
    // Requests that free space still work.
    check(disk.send(.destroy, "") == .ok)
    check(disk.send(.initialize, "", Sample.alice) == .ok)
    check(disk.send(.store, "", Sample.ticket(1000).bytes) == .ok)
    check(try Disk(folder).state == disk.state)
}
