import Foundation
import KerberosTesting
import TestSupport
import Testing

/// The sockets that a network keeps open for unanswered datagrams, and their release.
@Suite struct DatagramLimitTests {
    private static let options = TestRealmOptions(users: ["alice": "secret"], faultProxy: true)
    /// The first byte identifies a request for a ticket; the rest is not read.
    private static let request: [UInt8] = [0x6A, 0x00]

    /// Returns the number of sockets that are connected to a UDP port of 127.0.0.1, without the port's own.
    private func waitingDatagrams(to port: Int) -> Int {
        let address = "0100007F:" + String(format: "%04X", port)
        let lines = (String.contents(ofKernelFile: "/proc/net/udp") ?? "").split(separator: "\n")
        return lines.map { $0.split(separator: " ") }.count { $0.count > 2 && $0[2] == address && $0[1] != address }
    }

    @Test func `unanswered datagrams use at most 256 sockets`() async throws {
        try await withTestRealm(Self.options) { realm in
            let network = try realm.network
            try await realm.pauseKDC()
            network.datagramLife = .seconds(3600)
            let client = try ClientSocket(port: network.port, .udp)
            // Sent one after another, so that the kernel's buffer drops none.
            for count in 1...300 {
                try client.send(Self.request)
                _ = try await network.exchanges(count: count)
            }
            try await eventually { waitingDatagrams(to: realm.kdcPort) == 256 }
            try await realm.resumeKDC()
        }
    }

    @Test func `an unanswered datagram times out and its socket is closed`() async throws {
        try await withTestRealm(Self.options) { realm in
            let network = try realm.network
            try await realm.pauseKDC()
            network.datagramLife = .milliseconds(1)
            let client = try ClientSocket(port: network.port, .udp)
            try client.send(Self.request)
            _ = try await network.exchanges(count: 1)
            try await eventually { waitingDatagrams(to: realm.kdcPort) == 0 }
        }
    }

    /// A message that is still delayed would keep the network in memory.
    @Test func `the end of the realm cancels delayed messages`() async throws {
        weak var network: KDCNetwork?
        try await withTestRealm(Self.options) { realm in
            network = try realm.network
            try await realm.network.set(.delay(.seconds(3600)))
            let client = try ClientSocket(port: realm.network.port, .udp)
            try client.send(Self.request)
            _ = try await realm.network.exchanges(count: 1)
        }
        try await eventually { network == nil }
    }
}
