internal import Kerberos

/// The DNS records about a realm's KDCs.
///
/// libkrb5 looks up URI records first, and SRV records only if there are no URI records.
struct KDCRecords: Sendable {
    let realm: String
    /// The KDCs that libkrb5 finds.
    private(set) var places: [LocatedKDC] = []
    /// The KDC proxies that libkrb5 finds.
    private(set) var proxies: [LocatedKDCProxy] = []
    /// The KDCs of SRV records that libkrb5 ignores because there are URI records.
    private(set) var unread: [LocatedKDC] = []
    /// Whether no name server answered.
    let isSilent: Bool

    private var uriName: String { "_kerberos.\(realm)" }
    private var comesFromURI: Bool { !unread.isEmpty || (places.map(\.source) + proxies.map(\.source)).contains { $0.contains("URI") } }

    init(of realm: String, asksForURI: Bool) async {
        self.realm = realm
        async let uri = asksForURI ? NameService.locationRecords("_kerberos.\(realm)", secondsPerServer: 1) : .none
        async let udp = NameService.serviceRecords("_kerberos._udp.\(realm)", secondsPerServer: 1)
        async let tcp = NameService.serviceRecords("_kerberos._tcp.\(realm)", secondsPerServer: 1)
        let (byLocation, byDatagram, byStream) = await (uri, udp, tcp)
        isSilent = byDatagram == .noAnswer || byStream == .noAnswer
        read(byLocation)
        let hasLocations = !places.isEmpty || !proxies.isEmpty
        let services = Self.places(udp: byDatagram, tcp: byStream, of: realm)
        if hasLocations {
            unread = services.filter { place in !places.contains { $0.address == place.address } }
        } else {
            places = services
        }
    }

    private mutating func read(_ records: NameService.Records<LocationRecord>) {
        guard case .found(let records) = records else { return }
        let source = "the URI record \(uriName)"
        for record in records {
            switch record.place {
            case .keyDistributionCenter(let address, let transport): places.add(address, transport, source)
            case .proxy(let url): proxies.append(LocatedKDCProxy(url: url, source: source))
            }
        }
    }

    private static func places(
        udp: NameService.Records<ServiceRecord>,
        tcp: NameService.Records<ServiceRecord>,
        of realm: String
    ) -> [LocatedKDC] {
        var places: [LocatedKDC] = []
        for (records, transport) in [(udp, KDCProbe.Transport.udp), (tcp, .tcp)] {
            guard case .found(let records) = records else { continue }
            let source = "the SRV record _kerberos._\(transport.rawValue.lowercased()).\(realm)"
            for record in records where !record.target.isEmpty {
                places.add(KDCAddress(host: record.target, port: record.port), transport, source)
            }
        }
        return places
    }

    /// The finding if only DNS lists KDCs.
    var finding: Finding {
        guard places.isEmpty, proxies.isEmpty else { return .ok("DNS lists the KDCs of \(realm): \(names).") }
        if isSilent {
            return .failed(
                "no name server answers for _kerberos._udp.\(realm), and krb5.conf lists no KDC.",
                remedy: "Check the network or the VPN: dig SRV _kerberos._udp.\(realm)"
            )
        }
        return .failed(
            "the KDCs of \(realm) are unknown: krb5.conf lists none, and DNS has no SRV record _kerberos._udp.\(realm) "
                + "nor _kerberos._tcp.\(realm), and no URI record \(uriName).",
            remedy:
                "Check the network or the VPN: often only the organization's name servers list its KDCs. If they do not, check the realm's "
                + "spelling, or list its KDCs in the profile under ExtensionData (preferredKDCs: [kdc.corp.example]) or in krb5.conf."
        )
    }

    /// The finding if other KDCs are tried before those in DNS.
    func finding(after preferred: [String]) -> Finding {
        guard !places.isEmpty || !proxies.isEmpty else {
            return .skipped("DNS lists no KDC of \(realm) in addition to those of the profile.")
        }
        return .ok("after \(preferred.joined(separator: ", ")), DNS lists the KDCs of \(realm): \(names).")
    }

    private var names: String {
        let found = Set(places.map(\.address.description)).sorted() + Set(proxies.map(\.url)).sorted()
        let list = found.joined(separator: ", ")
        guard comesFromURI else { return list }
        let others = Set(unread.map(\.address.description)).sorted().joined(separator: ", ")
        return "\(list) (URI records, which libkrb5 reads before SRV"
            + (others.isEmpty ? ")" : "; so it ignores \(others) of the SRV records)")
    }
}

extension [LocatedKDC] {
    /// Adds a KDC, with one element per address that lists all its transports.
    fileprivate mutating func add(_ address: KDCAddress, _ transport: KDCProbe.Transport, _ source: String) {
        if let known = firstIndex(where: { $0.address == address }) {
            if !self[known].transports.contains(transport) { self[known].transports.append(transport) }
        } else {
            append(LocatedKDC(address: address, transports: [transport], source: source))
        }
    }
}
