import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@testable import KCM

/// What the store writes to disk, and what a restart recovers.
struct StorageTests {
    /// Requests that use every kind of change.
    private static let requests: [(KCM.Operation, String?, [UInt8])] = [
        (.initialize, "", Sample.alice), (.store, "", Sample.ticket(1).bytes), (.store, "", Sample.ticket(2).bytes),
        (.store, "", Sample.setting("refresh_time", value: "1").bytes), (.store, "", Sample.setting("refresh_time", value: "2").bytes),
        (.remove, "", Sample.ticket(1).patternBytes()), (.setClockOffset, "", encoded(-3600)), (.store, "", Sample.ticket(3).bytes),
        (.replace, "b/ä:\u{1}", replacement(offset: 7, principal: Sample.bob, [Sample.ticket(4), Sample.ticket(4), Sample.ticket(5)])),
        (.store, "b/ä:\u{1}", Sample.ticket(6).bytes), (.remove, "b/ä:\u{1}", Sample.ticket(5).patternBytes()),
        (.initialize, "c", Sample.alice), (.store, "c", Sample.ticket(7).bytes), (.store, "c", Sample.ticket(8).bytes),
        (.remove, "c", Sample.ticket(7).patternBytes()), (.move, "c", CacheName("d").terminated), (.store, "d", Sample.ticket(9).bytes),
        (.remove, "d", Sample.ticket(8).patternBytes()), (.setDefaultCache, "d", []),
        (.initialize, "e", Sample.bob), (.store, "e", Sample.ticket(1).bytes), (.destroy, "e", []),
        (.initialize, "1000:default", Sample.bob), (.store, "1000:default", Sample.ticket(1).bytes),
        (.replace, "1000:default", replacement([Sample.ticket(2), Sample.ticket(3)])),
        (.remove, "1000:default", Sample.ticket(3).patternBytes()), (.move, "d", CacheName("b/ä:\u{1}").terminated),
        (.setDefaultCache, "nowhere", []),
    ]

    @Test func `a restart after any request restores the whole state`() async throws {
        try await withFolder { folder in
            var disk = try Disk(folder)
            for (operation, name, body) in Self.requests {
                #expect(disk.send(operation, name, body) == .ok, "\(operation)")
                #expect(try Disk(folder).state == disk.state, "\(operation)")
            }
            // A recovered store continues to write correctly.
            var once = try Disk(folder)
            #expect(once.send(.remove, "1000:default", Sample.ticket(2).patternBytes()) == .ok)
            #expect(try Disk(folder).state == once.state)
        }
    }

    @Test func `restarting after every request leads to the same state`() async throws {
        try await withFolder { folder in
            try await withFolder { other in
                var disk = try Disk(folder)
                for (operation, name, body) in Self.requests {
                    disk.send(operation, name, body)
                    var restarted = try Disk(other)
                    #expect(restarted.send(operation, name, body) == .ok, "\(operation)")
                    #expect(restarted.state == disk.state, "\(operation)")
                }
            }
        }
    }

    @Test(.computation) func `a truncated file restores every complete record`() async throws {
        try await withFolder { folder in
            var disk = try Disk(folder)
            var states: [(size: Int, state: [String])] = []
            for (operation, name, body) in Self.requests.prefix(8) {
                disk.send(operation, name, body)
                // The clock offset is changed in place, so every truncated file has it.
                if operation != .setClockOffset { states.append((try size(try #require(disk.files.first)), disk.state)) }
                if operation == .setClockOffset { states = [] }
                if states.isEmpty { states.append((try size(try #require(disk.files.first)), disk.state)) }
            }
            let whole = try Data(contentsOf: URL(fileURLWithPath: try #require(disk.files.first)))
            let (first, last) = (try #require(states.first), try #require(states.last))
            #expect(last.size == whole.count && last.size > first.size)
            for length in 0...whole.count {
                try await withFolder { cut in
                    let path = "\(cut)/000000000001.ccache"
                    try whole.prefix(length).write(to: URL(fileURLWithPath: path))
                    var recovered = try Disk(cut)
                    guard length >= first.size else { return #expect(recovered.account.store.caches.count <= 1) }
                    let expected = try #require(states.last { $0.size <= length })
                    #expect(recovered.state == expected.state, "\(length)")
                    #expect(try size(path) == expected.size, "\(length)")
                    #expect(recovered.send(.store, "", Sample.ticket(50).bytes) == .ok)
                    #expect(try Disk(cut).state == recovered.state, "\(length)")
                }
            }
        }
    }

    private func size(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
    }

    @Test(.computation) func `replaced and removed records do not accumulate in the file`() async throws {
        try await withFolder { folder in
            var disk = try Disk(folder)
            disk.send(.initialize, "", Sample.alice)
            disk.send(.store, "", Sample.ticket(1).bytes)
            disk.send(.store, "", Sample.ticket(2).bytes)
            for number in 0..<2000 {
                #expect(disk.send(.store, "", Sample.setting("refresh_time", value: "\(number)").bytes) == .ok)
                #expect(disk.send(.remove, "", Sample.ticket(2).patternBytes()) == .ok)
                #expect(disk.send(.store, "", Sample.ticket(2).bytes) == .ok)
            }
            #expect(try size(try #require(disk.files.first)) < 20_000)
            #expect(try Disk(folder).state == disk.state)
            #expect(disk.account.store.caches.first?.credentials.count == 3)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
        }
    }

    @Test func `a restart removes expired tickets from memory and from the file`() async throws {
        try await withFolder { folder in
            var disk = try Disk(folder)
            disk.send(.initialize, "", Sample.alice)
            for request in [Sample.ticket(1, end: 2000), Sample.ticket(2, end: 9000), Sample.setting("pa_type", value: "2")] {
                disk.send(.store, "", request.bytes)
            }
            let later = try Disk(folder, now: 3000)
            #expect(
                later.account.store.caches.first?.credentials.map(\.bytes) == [
                    Sample.ticket(2, end: 9000).bytes, Sample.setting("pa_type", value: "2").bytes,
                ]
            )
            // With the earlier time, the ticket would be valid if its bytes were still in the file.
            #expect(try Disk(folder).state == later.state)
        }
    }

    @Test func `leftover and damaged files do not prevent a restart`() async throws {
        try await withFolder { folder in
            var disk = try Disk(folder)
            disk.send(.initialize, "", Sample.alice)
            let file = try Data(contentsOf: URL(fileURLWithPath: try #require(disk.files.first)))
            for name in ["000000000002.ccache.new", "primary.new", "notes.txt"] {
                try file.write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            }
            try Data("rubbish".utf8).write(to: URL(fileURLWithPath: "\(folder)/000000000007.ccache"))
            // A move that was interrupted before the old file was removed.
            try file.write(to: URL(fileURLWithPath: "\(folder)/000000000009.ccache"))
            let recovered = try Disk(folder)
            #expect(recovered.state == disk.state)
            let left = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
            #expect(left == ["000000000001.ccache", "000000000007.ccache.damaged", "notes.txt"])
        }
    }

    @Test func `zero bytes at the end of a file are not read as credentials`() async throws {
        try await withFolder { folder in
            var disk = try Disk(folder)
            disk.send(.initialize, "", Sample.alice)
            disk.send(.store, "", Sample.ticket(1).bytes)
            let url = URL(fileURLWithPath: try #require(disk.files.first))
            try (try Data(contentsOf: url) + Data(count: 4096)).write(to: url)
            let next = try Disk(folder)
            #expect(next.state == disk.state)
            #expect(next.reports == [.truncated(TruncatedFile(path: url.path, count: 4096))])
            #expect(try Disk(folder).reports.isEmpty)
        }
    }

    /// Credentials that a restart would take for removed ones, or for the end of the file.
    private static let unstorable = [
        Sample.ticket(2).with { ($0.client, $0.server) = ([UInt8](repeating: 0, count: 12), [UInt8](repeating: 0, count: 12)) },
        Sample.ticket(2).with { $0.key = [UInt8](repeating: 0, count: 16) },
        Sample.ticket(2).with { $0.times = CredentialTimes(authentication: .max, end: 0) },
    ]

    @Test(arguments: unstorable) func `a credential that a restart would not read is refused as malformed`(_ refused: Fields) async throws {
        try await withFolder { folder in
            var disk = try Disk(folder)
            #expect(disk.send(.initialize, "", Sample.alice) == .ok)
            #expect(disk.send(.store, "", Sample.ticket(1).bytes) == .ok)
            let before = disk.state
            #expect(disk.send(.store, "", refused.bytes) == .malformed)
            #expect(disk.send(.replace, "", replacement([Sample.ticket(4), refused])) == .malformed)
            #expect(disk.state == before)
            #expect(disk.send(.store, "", Sample.ticket(3).bytes) == .ok)
            let next = try Disk(folder)
            #expect(next.state == disk.state && next.reports.isEmpty)
        }
    }

    /// An earlier version of the server stored such a record.
    @Test func `a blank record does not remove the records after it`() async throws {
        try await withFolder { folder in
            var disk = try Disk(folder)
            disk.send(.initialize, "", Sample.alice)
            let url = URL(fileURLWithPath: try #require(disk.files.first))
            let blank = try #require(Self.unstorable.first)
            let tail = Data(blank.bytes + Sample.ticket(2).bytes + Sample.ticket(3).bytes)
            try (try Data(contentsOf: url) + tail).write(to: url)
            var next = try Disk(folder)
            #expect(next.account.store.caches.first?.credentials.map(\.bytes) == [Sample.ticket(2).bytes, Sample.ticket(3).bytes])
            #expect(next.reports.isEmpty)
            // The numbers of the records after it are correct.
            #expect(next.send(.remove, "", Sample.ticket(2).patternBytes()) == .ok)
            #expect(try Disk(folder).state == next.state)
        }
    }

    /// The file format is libkrb5's own.
    @Test(.testRealm()) func `klist reads a cache's file`() async throws {
        let realm = try #require(TestRealm.current)
        try await withFolder { folder in
            var disk = try Disk(folder)
            disk.send(.initialize, "", Sample.alice)
            for number in 1...3 { disk.send(.store, "", Sample.ticket(number).bytes) }
            disk.send(.remove, "", Sample.ticket(3).patternBytes())
            disk.send(.store, "", Sample.ticket(4).bytes)
            disk.send(.setClockOffset, "", encoded(3600))
            let path = try #require(disk.files.first)
            let shown = try await realm.run("klist", ["-c", "FILE:\(path)"])
            #expect(shown.exitStatus == 0, "\(shown.errors)")
            #expect(shown.output.contains("Default principal: alice@EXAMPLE.TEST"))
            #expect(shown.output.contains("HTTP/server1@") && shown.output.contains("HTTP/server4@"))
            #expect(!shown.output.contains("X-CACHECONF"))
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        }
    }

    /// A client can store bytes that look like the record of a removal.
    @Test func `a stored credential that imitates a removal record removes nothing`() async throws {
        try await withFolder { folder in
            var disk = try Disk(folder)
            disk.send(.initialize, "", Sample.alice)
            disk.send(.store, "", Sample.ticket(1).bytes)
            let forged = Tombstone.encoded([0], mark: 0, principal: try MarshalledPrincipal(Sample.alice))
            #expect(disk.send(.store, "", forged) == .ok)
            #expect(try Disk(folder).state == disk.state)
        }
    }
}
