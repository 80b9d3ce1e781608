import Foundation
import TestSupport
import Testing

@testable import KCM

/// How removed and replaced tickets are overwritten in a cache's file.
struct WipedRecordTests {
    private static let secret = Array("the ticket that goes".utf8)
    private static let going = Sample.ticket(1).with { $0.ticket = secret }

    private func content(of disk: Disk) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: try #require(disk.files.first))) }

    /// A cache with the ticket and another ticket on either side of it.
    private func disk(in folder: String) throws -> Disk {
        var disk = try Disk(folder)
        #expect(disk.send(.initialize, "", Sample.alice) == .ok)
        for ticket in [Sample.ticket(0), Self.going, Sample.ticket(2)] { #expect(disk.send(.store, "", ticket.bytes) == .ok) }
        #expect(try content(of: disk).contains(Self.secret))
        return disk
    }

    @Test func `a removed ticket is overwritten in the file`() async throws {
        try await withFolder { folder in
            var disk = try disk(in: folder)
            let size = try content(of: disk).count
            #expect(disk.send(.remove, "", Self.going.patternBytes()) == .ok)
            let after = try content(of: disk)
            #expect(!after.contains(Self.secret) && after.count > size)
            #expect(try Disk(folder).state == disk.state)
        }
    }

    @Test func `many tickets removed by one request are overwritten without opening the file for each`() async throws {
        try await withFolder { folder in
            var disk = try Disk(folder)
            #expect(disk.send(.initialize, "", Sample.alice) == .ok)
            for number in 0..<20 { #expect(disk.send(.store, "", Sample.ticket(number).with { $0.ticket = Self.secret }.bytes) == .ok) }
            let watch = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            defer { close(watch) }
            // Both kinds of events are watched, so that they alternate, because the kernel merges equal events in a row.
            let file = try #require(try disk.files.first)
            #expect(inotify_add_watch(watch, file, UInt32(IN_OPEN | IN_CLOSE)) >= 0)
            // The pattern matches every ticket of the client.
            #expect(disk.send(.remove, "", Self.going.with { ($0.server, $0.type, $0.ticket) = (nil, 0, []) }.patternBytes()) == .ok)
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            let length = read(watch, &buffer, buffer.count)
            // The file is opened and closed twice: to write the removals and to overwrite the tickets.
            #expect(length == 2 * 2 * MemoryLayout<inotify_event>.size)
            #expect(disk.account.store.caches.map(\.credentials.count) == [0])
            #expect(try !content(of: disk).contains(Self.secret))
        }
    }

    /// Every removal leaves other records in between, so that the file is not rewritten without the removed ones.
    @Test(.computation) func `thousands of tickets removed by one request are overwritten with few file operations`() async throws {
        try await withFolder { folder in
            var disk = try Disk(folder)
            let staying = (0..<3000).map { Sample.ticket($0, client: Sample.bob) }
            let going = (0..<2000).map { number in Sample.ticket(number).with { $0.ticket = Self.secret } }
            let all = zip(staying, going).flatMap { [$0, $1] } + staying.dropFirst(2000)
            #expect(disk.send(.replace, "", replacement(all)) == .ok)
            let watch = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            defer { close(watch) }
            // A read and a write alternate, because the kernel merges equal events in a row.
            let file = try #require(try disk.files.first)
            #expect(inotify_add_watch(watch, file, UInt32(IN_ACCESS | IN_MODIFY)) >= 0)
            #expect(disk.send(.remove, "", Self.going.with { ($0.server, $0.type, $0.ticket) = (nil, 0, []) }.patternBytes()) == .ok)
            var buffer = [UInt8](repeating: 0, count: 1 << 20)
            let length = read(watch, &buffer, buffer.count)
            // In each turn the removals are written, then the part of the file with the tickets is read and written.
            let turns = (2000 + CredentialList.matchLimit - 1) / CredentialList.matchLimit
            #expect(length > 0 && length <= 3 * turns * MemoryLayout<inotify_event>.size)
            #expect(disk.account.store.caches.first?.credentials.map(\.bytes) == staying.map(\.bytes))
            #expect(try !content(of: disk).contains(Self.secret))
            #expect(try Disk(folder).state == disk.state)
        }
    }

    @Test func `removed tickets in all parts of a long file are overwritten`() async throws {
        try await withFolder { folder in
            var disk = try Disk(folder)
            let long = [UInt8](repeating: 7, count: 700_000)
            let staying = (0..<4).map { number in Sample.ticket(number, client: Sample.bob).with { $0.ticket = long } }
            let going = (0..<4).map { number in
                Sample.ticket(number).with { $0.ticket = Self.secret + (number == 2 ? long + long : []) + Self.secret }
            }
            #expect(disk.send(.replace, "", replacement(zip(staying, going).flatMap { [$0, $1] })) == .ok)
            let restarted = try Disk(folder)
            #expect(restarted.state == disk.state)
            #expect(disk.send(.remove, "", Self.going.with { ($0.server, $0.type, $0.ticket) = (nil, 0, []) }.patternBytes()) == .ok)
            #expect(try !content(of: disk).contains(Self.secret))
            #expect(disk.account.store.caches.first?.credentials.map(\.bytes) == staying.map(\.bytes))
            #expect(try Disk(folder).state == disk.state)
        }
    }

    @Test func `a replaced ticket is overwritten in the file`() async throws {
        try await withFolder { folder in
            // After a restart, the positions of the records are those that were read from the file.
            _ = try disk(in: folder)
            var disk = try Disk(folder)
            let newer = Self.going.with { $0.ticket = Array("the ticket that came".utf8) }
            #expect(disk.send(.store, "", newer.bytes) == .ok)
            let after = try content(of: disk)
            #expect(!after.contains(Self.secret) && after.contains(newer.ticket))
            #expect(try Disk(folder).state == disk.state)
        }
    }

    /// After a move, the file begins with records whose numbers are not consecutive.
    @Test func `the removed ticket and no other is overwritten after a move`() async throws {
        try await withFolder { folder in
            var disk = try disk(in: folder)
            #expect(disk.send(.remove, "", Sample.ticket(0).patternBytes()) == .ok)
            #expect(disk.send(.move, "", CacheName("b").terminated) == .ok)
            #expect(disk.send(.store, "b", Sample.ticket(3).bytes) == .ok)
            #expect(disk.send(.remove, "b", Self.going.patternBytes()) == .ok)
            #expect(disk.send(.remove, "b", Sample.ticket(3).patternBytes()) == .ok)
            #expect(try !content(of: disk).contains(Self.secret))
            #expect(disk.account.store.caches.map(\.credentials.count) == [1])
            #expect(try Disk(folder).state == disk.state)
        }
    }

    /// The server stops after any byte of the overwriting; the next one completes it.
    @Test(arguments: [false, true])
    func `overwriting that was interrupted at any byte is completed by a restart`(_ isBackwards: Bool) async throws {
        try await withFolder { folder in
            var disk = try disk(in: folder)
            let before = try content(of: disk)
            #expect(disk.send(.remove, "", Self.going.patternBytes()) == .ok)
            let after = try content(of: disk)
            let start = try #require(before.range(of: Data(Self.going.bytes))).lowerBound
            // In the order in which they are written and in reverse, because a disk may have either after a power failure.
            let written = try Self.going.credential().erasures.flatMap { $0.offset + start..<$0.offset + start + $0.bytes.count }
            #expect(before.indices.filter { before[$0] != after[$0] && !written.contains($0) } == [])
            for count in 0...written.count {
                var torn = before + after[before.count...]
                for place in isBackwards ? written.suffix(count) : written.prefix(count) { torn[place] = after[place] }
                try await withFolder { other in
                    try torn.write(to: URL(fileURLWithPath: "\(other)/000000000001.ccache"))
                    let next = try Disk(other)
                    #expect(next.state == disk.state, "\(count)")
                    #expect(try content(of: next) == after, "\(count)")
                }
            }
        }
    }

    /// After a power failure, the file may have the bytes written over a record but not the record of the removal. A setting has no key.
    @Test(arguments: [going, Sample.setting("a", value: "the value that goes").with { $0.key = [] }], [false, true])
    func `an overwritten record counts as removed even without a removal record`(_ going: Fields, _ isBegunOnly: Bool) async throws {
        try await withFolder { folder in
            var disk = try Disk(folder)
            #expect(disk.send(.initialize, "", Sample.alice) == .ok)
            for fields in [Sample.ticket(0), going, Sample.ticket(2)] { #expect(disk.send(.store, "", fields.bytes) == .ok) }
            let before = try content(of: disk)
            #expect(disk.send(.remove, "", going.patternBytes()) == .ok)
            let after = try content(of: disk)
            var torn = Data(after.prefix(before.count))
            if isBegunOnly {
                // Only the mark was written.
                let start = try #require(before.range(of: Data(going.bytes))).lowerBound
                let end = start + (try #require(try going.credential().erasures.first)).offset + 12
                torn.replaceSubrange(end..., with: before[end...])
            }
            try torn.write(to: URL(fileURLWithPath: try #require(disk.files.first)))
            var next = try Disk(folder)
            #expect(next.state == disk.state)
            #expect(try content(of: next) == after.prefix(before.count))
            #expect(next.send(.store, "", going.bytes) == .ok)
            #expect(next.send(.remove, "", Sample.ticket(2).patternBytes()) == .ok)
            #expect(try Disk(folder).state == next.state)
        }
    }

    /// An earlier version of the server wrote no mark.
    @Test func `a ticket whose key was overwritten counts as removed`() async throws {
        try await withFolder { folder in
            let disk = try disk(in: folder)
            var bytes = try content(of: disk)
            let record = try #require(bytes.range(of: Data(Self.going.bytes)))
            let key = try #require(bytes.range(of: Data(Self.going.key), in: record))
            bytes.replaceSubrange(key, with: Data(count: key.count))
            try bytes.write(to: URL(fileURLWithPath: try #require(disk.files.first)))
            #expect(try Disk(folder).account.store.caches.map(\.credentials.count) == [2])
        }
    }
}

extension Data {
    fileprivate func contains(_ bytes: [UInt8]) -> Bool { range(of: Data(bytes)) != nil }
}
