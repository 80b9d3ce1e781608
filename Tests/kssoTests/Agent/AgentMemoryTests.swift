import Foundation
import Kerberos
import KerberosTesting
import TestSupport
import Testing

/// The agent erases a session's keys from its memory when the session ends.
@Suite(.protectedWeb, .timeLimit(.minutes(5)), .enabled(if: geteuid() == 0, "only root can read an agent's memory"))
struct AgentMemoryTests {
    let station: Workstation
    let server: ProtectedWebServer

    init() throws {
        station = try Workstation()
        server = try #require(WebTrait.server)
        try station.install(profile())
    }

    @Test(
        .skipped(under: .address, because: "the address sanitizer keeps freed memory as it was, to detect a later use"),
        .skipped(under: .thread, because: "a search of the memory that the thread sanitizer maps takes too long")
    )
    func `a sign-out erases the session keys from the agent's memory`() async throws {
        try await station.withAgent { agent in
            try await station.signIn()
            let body = "{\"url\": \"\(server.url)/hello\", \"keepsExchange\": false}"
            let call = ["curl", "-sS", "--unix-socket", "\(station.runtime)/agent.sock", "-H", "Content-Type: application/json"]
            let answer = try await station.run(call + ["-d", body, "http://ksso/v1/authorize"])
            #expect(answer.output.contains("Negotiate "), "\(answer)")
            let keys = try await keys()
            #expect(keys.count == 2)
            for key in keys { #expect(!ProcessMemory.places(of: key, process: agent.process).isEmpty, "the search finds nothing") }
            #expect(try await station.ksso("logout").exitStatus == 0)
            for key in keys {
                try await eventually { ProcessMemory.places(of: key, process: agent.process).isEmpty }
                #expect(ProcessMemory.places(of: key, process: agent.process) == [])
            }
        }
    }
}

extension AgentMemoryTests {
    /// The session keys of the ticket-granting ticket and of the service ticket, read from a copy of the cache.
    private func keys() async throws -> [[UInt8]] {
        let cache = CredentialCacheName(rawValue: try #require(try await station.status().sessions.first?.cache))
        let configuration = "[libdefaults]\nkcm_socket = \(station.runtime)/kcm.sock\n"
        let client = KerberosClient(RealmConfiguration(realm: "", base: .files([try station.write(configuration, to: "kcm.conf")])))
        let contents = try await client.contents(of: cache)
        let folder = "\(station.directory)/copy"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let copy = CredentialCacheName(rawValue: "FILE:\(folder)/cache")
        try await client.replace(copy, principal: contents.principal, credentials: contents.credentials)
        return try CacheFileKeys.read(inFolder: folder)
    }
}

/// The session keys of FILE caches of version 4.
enum CacheFileKeys {
    /// Reads the keys of every cache below a folder.
    static func read(inFolder folder: String) throws -> [[UInt8]] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder)
        return try names.flatMap { name -> [[UInt8]] in
            guard let data = FileManager.default.contents(atPath: "\(folder)/\(name)"), data.starts(with: [5, 4]) else { return [] }
            var reader = Reader(bytes: [UInt8](data))
            return try reader.keys()
        }
    }

    private struct Reader {
        let bytes: [UInt8]
        var offset = 2

        mutating func number(_ count: Int) throws -> Int {
            try #require(offset + count <= bytes.count)
            defer { offset += count }
            return bytes[offset..<offset + count].reduce(0) { $0 << 8 | Int($1) }
        }

        mutating func data() throws -> [UInt8] {
            let count = try number(4)
            try #require(offset + count <= bytes.count)
            defer { offset += count }
            return Array(bytes[offset..<offset + count])
        }

        /// Reads the name's type, the number of components, the realm and the components; returns the realm.
        mutating func principal() throws -> [UInt8] {
            offset += 4
            let count = try number(4)
            let realm = try data()
            for _ in 0..<count { _ = try data() }
            return realm
        }

        mutating func keys() throws -> [[UInt8]] {
            offset += try number(2)
            _ = try principal()
            var keys: [[UInt8]] = []
            while offset < bytes.count {
                _ = try principal()
                let realm = try principal()
                offset += 2
                let key = try data()
                // Configuration entries have no key.
                if realm != Array("X-CACHECONF:".utf8), key.count >= 16 { keys.append(key) }
                offset += 4 * 4 + 1 + 4
                for _ in 0..<2 {
                    for _ in 0..<(try number(4)) {
                        offset += 2
                        _ = try data()
                    }
                }
                for _ in 0..<2 { _ = try data() }
            }
            return keys
        }
    }
}

/// The memory of another process (proc_pid_mem(5)).
enum ProcessMemory {
    /// The places where the bytes occur: the lines of `/proc/PID/maps`, each with the offset.
    static func places(of needle: [UInt8], process: Int32) -> [String] {
        let memory = open("/proc/\(process)/mem", O_RDONLY | O_CLOEXEC)
        guard memory >= 0, let maps = String.contents(ofKernelFile: "/proc/\(process)/maps") else { return [] }
        defer { close(memory) }
        let pattern = Data(needle)
        return maps.split(separator: "\n").flatMap { line -> [String] in
            let words = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            let ends = words[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            guard ends.count == 2, words[1].hasPrefix("r"), ends[0] < UInt64(Int64.max) else { return [] }
            guard words.count < 6 || !words[5].hasPrefix("[v") else { return [] }
            return offsets(of: pattern, memory, from: ends[0], to: ends[1]).map { "\(line) at \(String($0, radix: 16))" }
        }
    }

    private static func offsets(of pattern: Data, _ memory: Int32, from start: UInt64, to end: UInt64) -> [UInt64] {
        var found: [UInt64] = []
        var buffer = Data(count: 1 << 20)
        var position = start
        while position < end {
            let wanted = min(UInt64(buffer.count), end - position)
            let count = buffer.withUnsafeMutableBytes { pread(memory, $0.baseAddress, Int(wanted), off_t(position)) }
            guard count > 0 else { break }
            var rest = buffer[..<count]
            while let range = rest.range(of: pattern) {
                found.append(position + UInt64(range.lowerBound))
                rest = rest[range.upperBound...]
            }
            // The next block overlaps the end of this one, so that a match across the boundary is found.
            guard position + UInt64(count) < end else { break }
            position += UInt64(max(1, count - pattern.count + 1))
        }
        return found
    }
}
