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

    @Test func aRemovedTicketIsOverwritten() async throws {
        try await withFolder { folder in
            var disk = try disk(in: folder)
            let size = try content(of: disk).count
            #expect(disk.send(.remove, "", Self.going.patternBytes()) == .ok)
            let after = try content(of: disk)
            #expect(!after.contains(Self.secret) && after.count > size)
            #expect(try Disk(folder).state == disk.state)
        }
    }

    @Test func aTicketThatAnotherTookThePlaceOfIsOverwritten() async throws {
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
    @Test func theRightOneIsOverwrittenAfterAMove() async throws {
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
    @Test func anEndMeanwhileHarmsNothing() async throws {
        try await withFolder { folder in
            var disk = try disk(in: folder)
            let before = try content(of: disk)
            #expect(disk.send(.remove, "", Self.going.patternBytes()) == .ok)
            let after = try content(of: disk)
            let changed = before.indices.filter { before[$0] != after[$0] }
            let (first, last) = (try #require(changed.first), try #require(changed.last))
            for end in first...last + 1 {
                try await withFolder { other in
                    let path = "\(other)/000000000001.ccache"
                    try (after[..<end] + before[end...] + after[before.count...]).write(to: URL(fileURLWithPath: path))
                    let next = try Disk(other)
                    #expect(next.state == disk.state, "\(end)")
                    #expect(try content(of: next) == after, "\(end)")
                }
            }
        }
    }

    /// After a power failure the file may have the zeros and not the record that says why.
    @Test func aTicketWithoutItsKeyIsGone() async throws {
        try await withFolder { folder in
            var disk = try disk(in: folder)
            let size = try content(of: disk).count
            #expect(disk.send(.remove, "", Self.going.patternBytes()) == .ok)
            let path = try #require(disk.files.first)
            try content(of: disk).prefix(size).write(to: URL(fileURLWithPath: path))
            var next = try Disk(folder)
            #expect(next.state == disk.state)
            #expect(next.send(.store, "", Self.going.bytes) == .ok)
            #expect(next.send(.remove, "", Sample.ticket(2).patternBytes()) == .ok)
            #expect(try Disk(folder).state == next.state)
        }
    }
}

extension Data {
    fileprivate func contains(_ bytes: [UInt8]) -> Bool { range(of: Data(bytes)) != nil }
}
