/// Where DNS says that a KDC is: one URI record (RFC 7553) as MIT's libkrb5 reads it, such as `krb5srv:m:tcp:kdc.example.com:88`.
package struct LocationRecord: Sendable, Hashable {
    /// What stands at the place.
    package enum Place: Sendable, Hashable {
        case keyDistributionCenter(KDCAddress, KDCProbe.Transport)
        /// A KDC proxy ([MS-KKDCP]), by its URL.
        case proxy(String)
    }

    /// The lower one is tried first.
    package let priority: UInt16
    /// How often it is chosen among those of one priority.
    package let weight: UInt16
    /// Where it is.
    package let place: Place
}

extension LocationRecord {
    /// Reads the scheme, the flags, the transport and the place. Nil for what libkrb5 passes over as well, but for a proxy's
    /// URL that is not https: it is kept, and can be told of.
    init?(priority: UInt16, weight: UInt16, target: String) {
        let parts = target.split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0].lowercased() == "krb5srv", !parts[3].isEmpty else { return nil }
        let residual = String(parts[3])
        switch parts[2].lowercased() {
        case "udp": guard let address = KDCAddress(residual) else { return nil }; place = .keyDistributionCenter(address, .udp)
        case "tcp": guard let address = KDCAddress(residual) else { return nil }; place = .keyDistributionCenter(address, .tcp)
        case "kkdcp": place = .proxy(residual)
        default: return nil
        }
        self.priority = priority
        self.weight = weight
    }

    /// Reads the URI records of an answer (RFC 1035 section 4.1), in the order in which they are to be tried. What breaks the format ends
    /// the reading: the records before it count.
    static func records(in message: [UInt8]) -> [LocationRecord] {
        var reader = DNSMessageReader(message)
        guard reader.skipHeader() else { return [] }
        var records: [LocationRecord] = []
        while let record = reader.nextAnswer() {
            guard record.type == DNSMessageReader.uriType, let found = reader.locationRecord(in: record.data) else { continue }
            records.append(found)
        }
        return records.sorted { ($0.priority, -Int($0.weight)) < ($1.priority, -Int($1.weight)) }
    }
}
