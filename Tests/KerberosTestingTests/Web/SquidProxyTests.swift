import Foundation
import KerberosTesting
import KerberosTestingTraits
import Testing

@Suite(
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/sbin/squid"), "squid is missing: package squid"),
    .testRealm(users: [:], services: ["HTTP/localhost"])
)
struct SquidProxyTests {
    /// The files of shared memory that a squid uses.
    private func sharedMemory(of squid: SquidProxy) throws -> Set<String> {
        let process = try String(contentsOfFile: "\(squid.directory)/squid.pid", encoding: .utf8).trimmingCharacters(in: .newlines)
        let maps = try #require(String.contents(ofKernelFile: "/proc/\(process)/maps"))
        return Set(maps.matches(of: /\/dev\/shm\/\S+/).map { String($0.output) })
    }

    /// A squid removes memory of its name when it starts, and ends if another one creates the same at that moment.
    @Test func `two squids at the same time have no shared memory in common`() async throws {
        let realm = try #require(TestRealm.current)
        var options = SquidProxyOptions()
        options.requiresTicket = false
        try await withSquidProxy(realm: realm, options) { first in
            try await withSquidProxy(realm: realm, options) { second in
                let files = try [first, second].map(sharedMemory)
                #expect(files.allSatisfy { !$0.isEmpty })
                #expect(files[0].isDisjoint(with: files[1]), "\(files)")
            }
        }
    }
}
