package import Foundation

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The sites that the domains assigned to this machine's networks, in a file that several processes share.
///
/// A lost or damaged file only costs a question to the domain, so that no error is reported.
package struct SiteCache: Sendable {
    /// The site of one network in one realm.
    package struct Entry: Codable, Sendable, Hashable {
        /// The realm.
        package let realm: String
        /// The network, as ``SiteCache/currentNetwork()`` describes it.
        package let network: String
        /// The site.
        package let site: String
        /// When the domain assigned it.
        package let date: Date
    }

    /// How many networks are remembered, of all realms.
    private static let limit = 64
    /// The largest file that is read.
    private static let longestFile = 1 << 16

    private let path: String

    /// Creates a cache over a file, which need not exist.
    package init(path: String) { self.path = path }

    /// All entries, the latest first.
    package func entries() -> [Entry] {
        guard let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int, size <= Self.longestFile,
            let data = FileManager.default.contents(atPath: path)
        else { return [] }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return (try? decoder.decode([Entry].self, from: data)) ?? []
    }

    func site(of realm: String, in network: String) -> String? {
        entries().first { $0.realm == realm && $0.network == network }.flatMap { DomainLocator.isSite($0.site) ? $0.site : nil }
    }

    /// Remembers a site, or with nil that there is none.
    func store(_ site: String?, of realm: String, in network: String, at date: Date) {
        let folder = URL(filePath: path).deletingLastPathComponent()
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        // Another process may store a site at the same time. The file itself is replaced, so that it cannot be locked.
        let lock = open("\(path).lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        defer { if lock >= 0 { close(lock) } }
        guard lock >= 0, flock(lock, LOCK_EX) == 0 else { return }
        let others = entries().filter { $0.realm != realm || $0.network != network }
        let entry = site.map { Entry(realm: realm, network: network, site: $0, date: date) }
        write((entry.map { [$0] } ?? []) + others.prefix(Self.limit - 1))
    }

    private func write(_ entries: [Entry]) {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try? encoder.encode(entries).write(to: URL(filePath: path), options: .atomic)
    }

    /// Describes the networks that this machine is connected to, so that a change can be noticed: `10.1.0.0/16 2001:db8::/64`. Loopback and
    /// link-local addresses do not count; the text is empty if there are no others.
    package static func currentNetwork() -> String {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return "" }
        defer { freeifaddrs(list) }
        var networks: Set<String> = []
        var next = list
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard entry.ifa_flags & UInt32(IFF_UP) != 0, entry.ifa_flags & UInt32(IFF_LOOPBACK) == 0,
                let address = bytes(of: entry.ifa_addr), let mask = bytes(of: entry.ifa_netmask), address.count == mask.count,
                !isLinkLocal(address)
            else { continue }
            networks.insert(text(of: zip(address, mask).map { $0 & $1 }, prefix: mask.reduce(0) { $0 + $1.nonzeroBitCount }))
        }
        return networks.sorted().joined(separator: " ")
    }

    /// The bytes of an IP address; nil for other families.
    private static func bytes(of address: UnsafeMutablePointer<sockaddr>?) -> [UInt8]? {
        guard let address else { return nil }
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { withUnsafeBytes(of: $0.pointee.sin_addr, Array.init) }
        case AF_INET6:
            return address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { withUnsafeBytes(of: $0.pointee.sin6_addr, Array.init) }
        default: return nil
        }
    }

    private static func isLinkLocal(_ address: [UInt8]) -> Bool {
        address.count == 4 ? address[0] == 169 && address[1] == 254 : address[0] == 0xFE && address[1] & 0xC0 == 0x80
    }

    private static func text(of network: [UInt8], prefix: Int) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            let family = network.count == 4 ? AF_INET : AF_INET6
            guard let start = buffer.baseAddress, inet_ntop(family, network, start, socklen_t(buffer.count)) != nil else { return "" }
            return "\(String(cString: start))/\(prefix)"
        }
    }
}
