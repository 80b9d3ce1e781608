import Foundation
import Kerberos
import KerberosEngine
import KerberosTesting
import SSOAgentClient
import Subprocess
import TestSupport
import Testing

@testable import SSOAgent

/// Which changes of the network the agent notices, and how it reacts.
@Suite struct NetworkWatchTests {
    /// A message as the kernel of a little-endian machine writes it.
    private static func message(_ type: UInt8, origin: UInt8 = 0, length: UInt8 = 28) -> [UInt8] {
        [length, 0, 0, 0, type, 0] + [UInt8](repeating: 0, count: 10) + [2, 24, 0, 0, 254, origin, 0, 1] + [0, 0, 0, 0]
    }

    @Test(
        .enabled(if: 1.littleEndian == 1, "the vectors are little-endian"),
        arguments: [
            ([], []), (message(16), [true]), (message(21), [true]), (message(24, origin: 9), [false]), (message(24, origin: 2), [false]),
            (message(25, origin: 16) + message(24, origin: 9), [true, false]), (message(3), [false]), (message(16, length: 29), []),
            (message(16, length: 0), []), ([28, 0, 0], []),
        ] as [([UInt8], [Bool])]
    )
    func `changes of links, addresses and configured routes count, other messages do not`(_ datagram: [UInt8], _ matters: [Bool]) {
        #expect(RouteMessages(datagram[...]).map(\.matters) == matters)
    }

    private static let canChangeAddresses = geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/sbin/ip")

    /// The test uses an address of the loopback network, because all of its addresses belong to this machine anyway.
    @Test(.enabled(if: canChangeAddresses, "only root can change addresses, with iproute2"), .timeLimit(.minutes(5)))
    func `an address that is added or removed is reported as a network change`() async throws {
        let watch = try #require(NetworkWatch())
        let address = "127.\(getpid() >> 16 & 0xFF).\(getpid() >> 8 & 0xFF).\(max(2, getpid() & 0xFF))/32"
        for change in ["add", "del"] {
            let result = try await run(
                .name("ip"),
                arguments: ["address", change, address, "dev", "lo"],
                output: .discarded,
                error: .string(limit: 4096)
            )
            guard result.terminationStatus.isSuccess else {
                try Test.cancel("addresses cannot be changed on this machine: \(result.standardError)")
            }
            for await _ in watch.changes { break }
        }
    }

    @Test func `a network change that makes the KDC reachable again reacquires the ticket at once`() async throws {
        try await withTestRealm(users: ["robot": "secret"]) { realm in
            let home = try KeptHome(realm)
            try await home.makeExtension().signIn(using: .keytab(try await realm.keytab(for: "robot")))
            try await realm.stopKDC()
            let (network, change) = AsyncStream.makeStream(of: Void.self)
            try await home.withKeeper(network: network) { keeper, events in
                home.clock.advance(by: 9 * 3600)
                try await events.next(.networkNotAvailable)
                try await realm.startKDC()
                let begun = home.clock.now.uptime
                change.yield()
                // The clock stops before the retry that is due without a change.
                try #require(
                    try await comesTrue {
                        await home.settle(keeper)
                        if home.clock.now.uptime - begun < 9 { home.clock.advance(by: 0.1) }
                        return try realm.issued(.initialTicket, client: "robot") == 2
                    }
                )
                try await events.next(.networkAvailable)
                try await events.next(.gotNewCredential)
            }
        }
    }
}
