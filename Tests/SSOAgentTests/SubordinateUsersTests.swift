import Foundation
import Testing

@testable import SSOAgent

/// The file with the ranges of subordinate user numbers.
struct SubordinateUsersTests {
    private func users(_ text: String) -> SubordinateUsers {
        SubordinateUsers(text) { ["alice": 1000, "bob": 1001, "root": 0][$0] }
    }

    @Test(
        arguments: [
            (99_999, 99_999), (100_000, 1000), (165_535, 1000), (165_536, 1001), (231_071, 1001), (231_072, 231_072), (1000, 1000), (0, 0),
            (300_005, 1234), (400_005, 400_000), (500_001, 500_000), (4_294_967_295, 1000),
        ] as [(UInt32, UInt32)]
    )
    func `a subordinate number is counted with its owner`(user: UInt32, owner: UInt32) {
        let users = users(
            """
            alice:100000:65536
            bob:165536:65536
            1234:300000:10
            unknown:400000:10
            root:500000:10
            alice:4294967290:65536
            """
        )
        #expect(users.owner(of: user) == owner)
    }

    @Test(arguments: ["", "\n\n", "alice", "alice:1", "alice:1:", "alice:-1:5", "alice:1:0", ":1:5", "alice:1:5:7", "alice:4294967296:5"])
    func `a line that grants nothing is skipped`(line: String) {
        #expect(users("\(line)\nbob:200000:5\n").owner(of: 200_004) == 1001)
        #expect(users(line) == users(""))
    }

    @Test func `a change of the file is noticed`() throws {
        let current = SubordinateUsers.Current()
        #expect(!current.replace(users("")))
        #expect(current.replace(users("alice:100000:10")))
        #expect(current.owner(of: 100_009) == 1000)
        #expect(!current.replace(users("alice:100000:10")))
    }

    @Test func `names are resolved`() throws {
        let path = "/tmp/subuid-\(UUID().uuidString)"
        try "root:100000:5\n".write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        // What root runs in containers is not root.
        #expect(SubordinateUsers(path: path).owner(of: 100_003) == 100_000)
        #expect(SubordinateUsers(path: path + ".missing") == SubordinateUsers())
    }
}
