import Foundation
import Testing

@testable import KCM

/// What is left in a cache's file of tickets that are gone.
struct WipedRecordTests {
    private static let secret = Array("the ticket that goes".utf8)
    private static let going = Sample.ticket(1).with { $0.ticket = secret }

    private func content(of disk: Disk) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: try #require(disk.files.first))) }

    /// A cache with the ticket, and another one on either side.
    private func disk(in folder: String) throws -> Disk {
        var disk = try Disk(folder)
        #expect(disk.send(.initialize, "", Sample.alice) == .ok)
        for ticket in [Sample.ticket(0), Self.going, Sample.ticket(2)] { #expect(disk.send(.store, "", ticket.bytes) == .ok) }
        #expect(try content(of: disk).contains(Self.secret))
        return disk
    }

    @Test func `a removed ticket is overwritten`() async throws {
        try await withFolder { folder in
            var disk = try disk(in: folder)
            let size = try content(of: disk).count
            #expect(disk.send(.remove, "", Self.going.patternBytes()) == .ok)
            let after = try content(of: disk)
            #expect(!after.contains(Self.secret) && after.count > size)
            #expect(try Disk(folder).state == disk.state)
        }
    }

    @Test func `many tickets that one request removes are overwritten in a file that is opened once`() async throws {
        try await withFolder { folder in
            var disk = try Disk(folder)
            #expect(disk.send(.initialize, "", Sample.alice) == .ok)
            for number in 0..<20 { #expect(disk.send(.store, "", Sample.ticket(number).with { $0.ticket = Self.secret }.bytes) == .ok) }
            let watch = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            defer { close(watch) }
            // The events alternate, because the kernel joins events that are alike.
            let file = try #require(try disk.files.first)
            #expect(inotify_add_watch(watch, file, UInt32(IN_OPEN | IN_CLOSE)) >= 0)
            // Every ticket of the client.
            #expect(disk.send(.remove, "", Self.going.with { ($0.server, $0.type, $0.ticket) = (nil, 0, []) }.patternBytes()) == .ok)
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            let length = read(watch, &buffer, buffer.count)
            // To write that they are gone, and to overwrite them.
            #expect(length == 2 * 2 * MemoryLayout<inotify_event>.size)
            #expect(disk.account.store.caches.map(\.credentials.count) == [0])
            #expect(try !content(of: disk).contains(Self.secret))
        }
    }

    @Test func `a ticket that another took the place of is overwritten`() async throws {
        try await withFolder { folder in
            // After a restart the places are those that were read.
            _ = try disk(in: folder)
            var disk = try Disk(folder)
            let newer = Self.going.with { $0.ticket = Array("the ticket that came".utf8) }
            #expect(disk.send(.store, "", newer.bytes) == .ok)
            let after = try content(of: disk)
            #expect(!after.contains(Self.secret) && after.contains(newer.ticket))
            #expect(try Disk(folder).state == disk.state)
        }
    }

    /// After a move the file begins with records whose numbers are not in a row.
    @Test func `the right one is overwritten after a move`() async throws {
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

    /// The server ends at any byte of the overwriting; the next one goes on with it.
    @Test(arguments: [false, true])
    func `an end meanwhile harms nothing`(_ isBackwards: Bool) async throws {
        try await withFolder { folder in
            var disk = try disk(in: folder)
            let before = try content(of: disk)
            #expect(disk.send(.remove, "", Self.going.patternBytes()) == .ok)
            let after = try content(of: disk)
            let start = try #require(before.range(of: Data(Self.going.bytes))).lowerBound
            // In the order in which they are written, and the other way around, as a disk may have them after a power failure.
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

    /// After a power failure the file may have what was written over a record and not the record that says why. A setting has no key.
    @Test(arguments: [going, Sample.setting("a", value: "the value that goes").with { $0.key = [] }], [false, true])
    func `what was overwritten is gone`(_ going: Fields, _ isBegunOnly: Bool) async throws {
        try await withFolder { folder in
            var disk = try Disk(folder)
            #expect(disk.send(.initialize, "", Sample.alice) == .ok)
            for fields in [Sample.ticket(0), going, Sample.ticket(2)] { #expect(disk.send(.store, "", fields.bytes) == .ok) }
            let before = try content(of: disk)
            #expect(disk.send(.remove, "", going.patternBytes()) == .ok)
            let after = try content(of: disk)
            var torn = Data(after.prefix(before.count))
            if isBegunOnly {
                // The mark alone.
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

    /// A server before this one wrote no mark.
    @Test func `a ticket without its key is gone`() async throws {
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
