internal import SystemSupport

#if canImport(Glibc)
    internal import func Glibc.pow
#else
    internal import func Darwin.pow
#endif

/// The controllers of a domain, the nearest first.
package struct DomainLocation: Sendable, Hashable {
    /// A controller that DNS lists.
    package struct Controller: Sendable, Hashable {
        /// The host and the port of the KDC.
        package let address: KDCAddress
        /// Whether DNS lists it for the site.
        package let isOfSite: Bool
        /// Whether it answered that it accepts changes, such as of passwords.
        package let isWritable: Bool
        /// The time until it answered; nil if it was not asked, or did not answer before the others were no longer waited for.
        package let latency: Duration?
    }

    /// The site; nil if the domain assigns none to this network.
    package let site: String?
    /// The domain's NetBIOS name, such as `CORP` in `CORP\alice`; nil if no controller answered.
    package let netBIOSName: String?
    /// The controllers in the order in which to try them: those that answered before those that did not, of each those of the site first.
    package let controllers: [Controller]

    /// The hosts of the controllers that change passwords, in the same order.
    var passwordServers: [String] { controllers.filter(\.isWritable).map(\.address.host) }
}

extension DomainLocation {
    /// The name of the SRV records of a domain's KDCs, or of those of a site ([MS-ADTS] section 6.3.2.3).
    package static func recordName(site: String?, realm: String) -> String {
        "_kerberos._tcp.\(site.map { "\($0)._sites." } ?? "")dc._msdcs.\(realm)"
    }
}

/// Finds the controllers of an Active Directory domain by DNS ([MS-ADTS] section 6.3.2), and asks them for the site of this machine.
struct DomainLocator: Sendable {
    /// The realm, whose name is the domain's in capital letters.
    let realm: String
    /// The site whose controllers are preferred; nil asks the domain.
    let site: String?
    /// How long to wait for controllers, each time they are asked.
    var limit: Duration

    /// How many controllers are asked and listed; a large domain has hundreds.
    private static let controllerLimit = 16

    /// The location; nil if DNS lists no controller, as for a realm that is not an Active Directory domain.
    ///
    /// - Parameter known: The site that this network had at the last time, whose controllers are asked first.
    func location(known: String? = nil) async -> DomainLocation? {
        let assumed = site ?? known
        async let everywhere = records(of: nil)
        async let nearby = records(of: assumed)
        let (all, near) = await (everywhere, nearby)
        var survey = Survey(site: near, all: all)
        guard !survey.isEmpty else { return nil }
        await survey.ask(domain: realm.lowercased(), within: limit)
        guard site == nil, let actual = survey.clientSite, actual != assumed else {
            // If a controller answered and named no site, the network belongs to none any more.
            return survey.location(site: site ?? survey.clientSite ?? (near.isEmpty || survey.isAnswered ? nil : known))
        }
        // The network belongs to another site than the assumed one.
        survey.change(site: await records(of: actual))
        await survey.ask(domain: realm.lowercased(), within: limit)
        return survey.location(site: actual)
    }

    private func records(of site: String?) async -> [ServiceRecord] {
        if let site, !Self.isSite(site) { return [] }
        let name = DomainLocation.recordName(site: site, realm: realm)
        guard case .found(let records) = await NameService.serviceRecords(name, secondsPerServer: 1) else { return [] }
        return Array(records.filter { Self.isHost($0.target) }.inRandomOrder().prefix(Self.controllerLimit))
    }

    /// Whether a text from a reply can be a label of a DNS name.
    static func isSite(_ text: String) -> Bool { (1...63).contains(text.utf8.count) && isHost(text) && !text.contains(".") }

    /// Whether a text from DNS can be a host name. libkrb5 would take others, such as URLs, for another kind of entry.
    static func isHost(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
                default: false
                }
            }
    }
}

extension [ServiceRecord] {
    /// The records by priority, and within one priority at random, the heavier ones more often first (RFC 2782): otherwise all clients
    /// would ask the same controllers.
    fileprivate func inRandomOrder() -> [ServiceRecord] {
        map { record in (record, record.weight == 0 ? 0 : pow(Double.random(in: 0..<1), 1 / Double(record.weight))) }
            .sorted { ($0.0.priority, -$0.1) < ($1.0.priority, -$1.1) }
            .map(\.0)
    }
}

/// The controllers that DNS lists, and what they answered.
private struct Survey {
    private var site: [ServiceRecord]
    private let all: [ServiceRecord]
    private var latencies: [String: Duration] = [:]
    private var asked: Set<String> = []
    private var writable: Set<String> = []
    private(set) var clientSite: String?
    private var netBIOSName: String?

    init(site: [ServiceRecord], all: [ServiceRecord]) {
        self.site = site
        self.all = all
    }

    var isEmpty: Bool { site.isEmpty && all.isEmpty }
    /// Whether a controller answered.
    var isAnswered: Bool { !latencies.isEmpty }

    mutating func change(site records: [ServiceRecord]) { site = records }

    /// Asks the controllers of the site, or all if DNS lists none for it, or if none of them answers.
    mutating func ask(domain: String, within limit: Duration) async {
        await ask(site.map(\.target), domain, limit)
        if !site.contains(where: { latencies[$0.target] != nil }) { await ask(all.map(\.target), domain, limit) }
    }

    private mutating func ask(_ hosts: [String], _ domain: String, _ limit: Duration) async {
        let hosts = hosts.filter { asked.insert($0).inserted }
        guard !hosts.isEmpty else { return }
        let ping = NetlogonPing(domain: domain)
        let places = await Self.addresses(of: hosts, within: limit)
        let answers = await BlockingCall.run {
            let replies = DatagramSurvey.replies(
                to: ping.message,
                from: places.map(\.address),
                port: NetlogonPing.port,
                within: limit,
                accepting: { datagram in
                    guard ping.isAnswered(by: datagram), let answer = NetlogonAnswer(datagram) else { return false }
                    return answer.domain.lowercased() == domain && answer.isKDC
                }
            )
            return replies.map { (host: places[$0.index].host, latency: $0.latency, answer: NetlogonAnswer($0.datagram)) }
        }
        for reply in answers {
            if latencies[reply.host] == nil { latencies[reply.host] = reply.latency }
            if reply.answer?.isWritable == true { writable.insert(reply.host) }
            if netBIOSName == nil { netBIOSName = reply.answer?.netBIOSName }
            if clientSite == nil { clientSite = reply.answer?.clientSite.flatMap { DomainLocator.isSite($0) ? $0 : nil } }
        }
    }

    /// The first addresses of the hosts whose names are resolved in time.
    private static func addresses(of hosts: [String], within limit: Duration) async -> [(host: String, address: String)] {
        await withTaskGroup(of: [(host: String, address: String)].self) { group in
            for host in hosts {
                group.addTask {
                    let found = await firstResult(within: limit) { await NameService.lookUp(host).host?.addresses ?? [] }
                    return (found ?? []).prefix(addressLimit).map { (host, $0) }
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }

    /// How many addresses of a host are asked.
    private static let addressLimit = 3

    func location(site name: String?) -> DomainLocation {
        let near = Set(site.map(\.target))
        let records = site + all.filter { !near.contains($0.target) }
        let controllers = records.map { record in
            DomainLocation.Controller(
                address: KDCAddress(host: record.target, port: record.port),
                isOfSite: near.contains(record.target),
                isWritable: writable.contains(record.target),
                latency: latencies[record.target]
            )
        }
        return DomainLocation(site: name, netBIOSName: netBIOSName, controllers: Self.ordered(controllers, records))
    }

    /// Those that answered before those that did not; among these those of the site first, then by the priority in DNS, then by the time
    /// that they took.
    private static func ordered(_ controllers: [DomainLocation.Controller], _ records: [ServiceRecord]) -> [DomainLocation.Controller] {
        typealias Rank = (Int, Int, UInt16, Duration, Int)
        let ranks = zip(controllers, records).enumerated().map { index, pair -> Rank in
            let (controller, record) = pair
            return (controller.latency == nil ? 1 : 0, controller.isOfSite ? 0 : 1, record.priority, controller.latency ?? .zero, index)
        }
        return ranks.sorted { $0 < $1 }.map { controllers[$0.4] }
    }
}
