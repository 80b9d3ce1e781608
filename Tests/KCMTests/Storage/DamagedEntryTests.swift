import Foundation
import NIOCore
import TestSupport
import Testing

@testable import KCM

/// How the server handles damaged and unexpected entries among its ticket files.
@Suite(.timeLimit(.minutes(15))) struct DamagedEntryTests {
    /// A kind of entry, made by a shell in the folder.
    struct Entry: Sendable, CustomTestStringConvertible {
        let name: String
        let command: String
        var testDescription: String { "\(name): \(command)" }

        init(_ name: String, _ command: String) { (self.name, self.command) = (name, command) }
    }

    static let entries = [
        Entry("000000000002.ccache", "mkdir $0"), Entry("000000000002.ccache", "mkdir $0; touch $0/file"),
        Entry("000000000002.ccache", "ln -s 000000000001.ccache $0"), Entry("000000000002.ccache", "ln -s nowhere $0"),
        Entry("000000000002.ccache", "mkfifo $0"), Entry("000000000002.ccache", "echo tickets > $0"),
        Entry("000000000002.ccache", ": > $0"),
        Entry("000000000002.ccache", "truncate -s 2G $0"), Entry("000000000002.ccache", "echo > $0.damaged; mkdir $0.damaged-2; mkdir $0"),
        Entry("18446744073709551615.ccache", "cp 000000000001.ccache $0"), Entry("9223372036854775807.ccache", "mkdir $0"),
        Entry("2.ccache", "cp 000000000001.ccache $0"), Entry("+00000000002.ccache", "cp 000000000001.ccache $0"),
        Entry("000000000002.ccache.new", "mkdir $0; touch $0/file"), Entry("primary.new", "mkdir $0"), Entry("primary", "rm -f $0; : > $0"),
        Entry("primary", "rm -f $0; mkdir $0"), Entry("primary", "rm -f $0; ln -s nowhere $0"), Entry("primary", "printf 1001:cache > $0"),
        Entry("primary", "head -c 300 /dev/zero > $0"), Entry("primary", "printf 'a\\0b' > $0"),
    ]

    @Test(arguments: entries) func `a damaged entry is renamed and reported, and the other tickets are served`(entry: Entry) async throws {
        try await withFolder { folder in
            var disk = try Disk(folder)
            disk.send(.initialize, "a", Sample.alice)
            disk.send(.store, "a", Sample.ticket(1).bytes)
            #expect(succeeds(["sh", "-c", "cd \(folder); \(entry.command.replacingOccurrences(of: "$0", with: entry.name))"]))
            let before = Array(disk.state.dropFirst())

            var next = try Disk(folder)
            #expect(Array(next.state.dropFirst()) == before)
            #expect(next.account.store.primary == .initialPrimary(user: 1000))
            guard next.reports.count == 1, case .damaged(let report) = next.reports[0] else {
                Issue.record("\(next.reports)")
                return
            }
            #expect(report.path == "\(folder)/\(entry.name)")
            let name = try #require(report.newName)
            #expect(
                name.hasPrefix("\(entry.name).damaged") && (try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")) != nil
            )

            // The renamed entry does not affect later requests.
            for name in ["b", "c", "d"] {
                #expect(next.send(.initialize, name, Sample.bob) == .ok)
                #expect(next.send(.store, name, Sample.ticket(2).bytes) == .ok)
            }
            #expect(next.send(.setDefaultCache, "b") == .ok)
            let again = try Disk(folder)
            #expect(again.state == next.state)
            #expect(again.reports.isEmpty)
        }
    }

    @Test func `a cache file with the highest possible generation is treated as damaged`() async throws {
        try await withFolder { folder in
            let principal = try MarshalledPrincipal(Sample.alice)
            var writer = ByteWriter()
            CacheFileHeader(name: CacheName("a"), generation: .max, mark: 1, clockOffset: 0, principal: principal).write(to: &writer)
            try Data(writer.bytes).write(to: URL(filePath: "\(folder)/000000000001.ccache"))
            var disk = try Disk(folder)
            #expect(disk.reports.count == 1 && disk.account.store.caches.isEmpty)
            #expect(disk.send(.initialize, "a", Sample.alice) == .ok)
        }
    }

    @Test(.exitTest, .enabled(if: geteuid() == 0, "only root can become another user"))
    func `an unreadable cache file is treated as damaged`() async throws {
        try await withFolder { folder in
            await #expect(processExitsWith: .success) { [folder = folder as String] in
                guard chown(folder, 12345, 12345) == 0, seteuid(12345) == 0 else { exit(1) }
                var disk = try Disk(folder)
                disk.send(.initialize, "a", Sample.alice)
                guard disk.send(.initialize, "b", Sample.bob) == .ok, chmod("\(folder)/000000000001.ccache", 0) == 0 else { exit(2) }
                let next = try Disk(folder)
                guard next.account.store.caches.map(\.name) == [CacheName("b")], next.reports.count == 1 else { exit(3) }
                endChildProcess()
            }
        }
    }

    @Test func `an invalid user directory is reported and does not stop the server from starting`() async throws {
        try await withFolder { folder in
            let caches = "\(folder)/caches"
            for name in ["", "/12", "/13"] {
                try FileManager.default.createDirectory(
                    atPath: caches + name,
                    withIntermediateDirectories: false,
                    attributes: [.posixPermissions: name == "/13" ? 0o755 : 0o700]
                )
            }
            try "".write(toFile: "\(caches)/\(geteuid())", atomically: false, encoding: .utf8)
            let reports = Recorded<ServerReport>()
            var options = KCMServer.Options.forEveryone(directory: caches)
            options.report = reports.append
            try await withServer(options) { running in
                let entry = DamagedEntry(
                    path: "\(caches)/\(geteuid())",
                    reason: "it is not a directory, or it is a link",
                    newName: "\(geteuid()).damaged"
                )
                #expect(reports.all.first == .damaged(entry))
                #expect(reports.all.count == 2 && "\(reports.all.last.map { "\($0)" } ?? "")".contains("chmod 700"), "\(reports.all)")
                try await withConnection(running.path) { connection async throws in
                    #expect(try await connection.code(.initialize, "a", Sample.alice) == .ok)
                }
            }
        }
    }
}

/// Write failures between the steps of one change, and how often failures are reported.
@Suite(.timeLimit(.minutes(15))) struct InterruptedChangeTests {
    /// The oldest cache has expired and makes room for a new one, whose file cannot be renamed because a directory has that name.
    @Test func `a change whose rename fails is rolled back completely`() async throws {
        try await withFolder { folder in
            var disk = try Disk(folder, limits: StoreLimits(caches: 2), now: 5000)
            disk.send(.initialize, "old", Sample.alice)
            disk.send(.store, "old", Sample.ticket(1, end: 2000).bytes)
            disk.send(.initialize, "live", Sample.alice)
            disk.send(.store, "live", Sample.ticket(1, end: .max).bytes)
            let (state, entries) = (disk.state, try FileManager.default.contentsOfDirectory(atPath: folder).sorted())
            // The next file's name, and a few after it.
            let blocks = (3...9 as ClosedRange<UInt64>).map { "\(folder)/\(UserStorage.name($0))" }
            for path in blocks { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }

            #expect(disk.send(.initialize, "new", Sample.bob) == .writeFailed)
            #expect(disk.state == state)
            guard case .writeFailed(let error)? = disk.reports.first else {
                Issue.record("\(disk.reports)")
                return
            }
            #expect("\(error)".hasPrefix("\(folder)/0000"), "\(error)")
            for path in blocks { try FileManager.default.removeItem(atPath: path) }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == entries)

            // Changes that are acknowledged from here on survive a restart.
            #expect(disk.send(.store, "old", Sample.ticket(2, end: .max).bytes) == .ok)
            #expect(
                try Disk(folder, now: 5000).account.store.caches.map { $0.credentials.last?.bytes } == [
                    Sample.ticket(2, end: .max).bytes, Sample.ticket(1, end: .max).bytes,
                ]
            )
            #expect(disk.send(.destroy, "old") == .ok)
            #expect(disk.send(.initialize, "new", Sample.bob) == .ok)
            #expect(try Disk(folder, now: 5000).state == disk.state)
        }
    }

    @Test func `an append failure is reported with the path of the file`() async throws {
        try await withFolder { folder in
            var disk = try Disk(folder)
            disk.send(.initialize, "a", Sample.alice)
            let path = try #require(try disk.files.first)
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            #expect(disk.send(.store, "a", Sample.ticket(1).bytes) == .writeFailed)
            #expect(disk.reports.map { "\($0)" } == ["tickets cannot be written: \(path) is not a regular file."])
        }
    }

    @Test func `a repeated write failure is reported once until writes succeed for a minute`() {
        let reports = Recorded<ServerReport>()
        let filter = ReportFilter(reports.append)
        let (full, broken) = (StorageError(.system(ENOSPC), "full."), StorageError(.system(EIO), "broken."))
        let start = NIODeadline.now()
        for second in 0..<100 {
            filter.writeFailed(full, now: start + .seconds(Int64(second)))
            filter.wrote(now: start + .seconds(Int64(second)))
        }
        filter.writeFailed(broken, now: start + .seconds(100))
        #expect(reports.all == [.writeFailed(full), .writeFailed(broken)])
        filter.wrote(now: start + .seconds(159))
        filter.wrote(now: start + .seconds(161))
        filter.wrote(now: start + .seconds(162))
        #expect(reports.all.dropFirst(2) == [.writesAgain])
        filter.writeFailed(full, now: start + .seconds(163))
        #expect(reports.all.last == .writeFailed(full))
    }

    @Test func `a user with too many caches is reported once every ten minutes`() {
        let reports = Recorded<ServerReport>()
        let filter = ReportFilter(reports.append)
        let start = NIODeadline.now()
        for minute in 0..<25 {
            for user in [1000, 1001] as [UInt32] { filter.noMoreCaches(user: user, limit: 64, now: start + .minutes(Int64(minute))) }
        }
        #expect(reports.all.count == 6)
        #expect("\(reports.all[0])".contains("64") && "\(reports.all[0])".contains("kdestroy -A"))
    }

    @Test func `a user at the cache limit is reported by UID`() async throws {
        try await withFolder { folder in
            var disk = try Disk(folder, limits: StoreLimits(caches: 2))
            for name in ["a", "b"] { #expect(disk.send(.initialize, name, Sample.alice) == .ok) }
            for name in ["c", "d"] { #expect(disk.send(.initialize, name, Sample.alice) == .quotaExceeded) }
            #expect(disk.reports == [.noMoreCaches(user: 1000, limit: 2)])
        }
    }
}
