import Foundation
import Testing

@testable import SSOAgent

/// How the file with the ranges of subordinate UIDs is read.
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
    func `a subordinate UID is mapped to the owner of its range`(user: UInt32, owner: UInt32) {
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
    func `an empty or invalid line of the file with subordinate UIDs is ignored`(line: String) {
        #expect(users("\(line)\nbob:200000:5\n").owner(of: 200_004) == 1001)
        #expect(users(line) == users(""))
    }

    @Test func `replacing the ranges of subordinate UIDs returns whether they changed`() throws {
        let current = SubordinateUsers.Current()
        #expect(!current.replace(users("")))
        #expect(current.replace(users("alice:100000:10")))
        #expect(current.owner(of: 100_009) == 1000)
        #expect(!current.replace(users("alice:100000:10")))
    }

    @Test func `the file's names are those of the machine's users, root's ranges do not count as root, and a missing file has no ranges`()
        throws
    {
        let path = "/tmp/subuid-\(UUID().uuidString)"
        // The last name is that of no user.
        try "root:100000:5\ndaemon:200000:5\nno such user:300000:5\n".write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let daemon = try #require(getpwnam("daemon")).pointee.pw_uid
        // A user in a container that root runs is not root.
        #expect(SubordinateUsers(path: path).owner(of: 100_003) == 100_000)
        #expect(SubordinateUsers(path: path).owner(of: 200_003) == daemon)
        #expect(SubordinateUsers(path: path).owner(of: 300_003) == 300_000)
        #expect(SubordinateUsers(path: path + ".missing") == SubordinateUsers())
    }
}
