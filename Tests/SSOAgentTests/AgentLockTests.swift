import Foundation
import SSOAgentClient
import SystemSupport
import Testing

/// How the holder of the agent's lock is identified.
struct AgentLockTests {
    /// Each user's runtime folder is a file system of its own, so files of two users can have the same inode number.
    @Test func `a lock's holder is found by device and inode, or by inode if the device is not listed`() throws {
        let file = try #require(FileIdentity(path: "/proc/self/status"))
        let own = file.kernelName
        let other = "ff:ff:\(file.inode)"
        let table = """
            1: FLOCK  ADVISORY  WRITE 100 \(other) 0 EOF
            2: POSIX  ADVISORY  WRITE 200 \(own) 0 EOF
            3: FLOCK  ADVISORY  WRITE 300 \(own) 0 EOF
            3: -> FLOCK  ADVISORY  WRITE 301 \(own) 0 EOF
            4: FLOCK  ADVISORY  WRITE 400 \(own)1 0 EOF
            """
        #expect(RuntimeDirectory.lockHolders(of: file, in: table) == [300])
        let withoutDevice = table.split(separator: "\n").filter { !$0.contains(own) }.joined(separator: "\n")
        #expect(RuntimeDirectory.lockHolders(of: file, in: withoutDevice) == [100])
    }

    @Test func `the owner of a process is read from its status`() {
        #expect(FileIdentity.owner(ofProcess: getpid()) == geteuid())
        #expect(FileIdentity.owner(ofProcess: -1) == nil)
    }
}
