/// Where DNS says that a service is: one SRV record (RFC 2782).
package struct ServiceRecord: Sendable, Hashable {
    /// The lower one is tried first.
    package let priority: UInt16
    /// How often it is chosen among those of one priority.
    package let weight: UInt16
    /// The port.
    package let port: UInt16
    /// The host, without the dot at its end; empty where the domain says that it has no such service.
    package let target: String

    /// Makes a record.
    package init(priority: UInt16, weight: UInt16, port: UInt16, target: String) {
        self.priority = priority
        self.weight = weight
        self.port = port
        self.target = target
    }
}

extension ServiceRecord {
    /// Reads the SRV records of an answer (RFC 1035 section 4.1), in the order in which they are to be tried. What breaks the format ends
    /// the reading: the records before it count.
    static func records(in message: [UInt8]) -> [ServiceRecord] {
        var reader = DNSMessageReader(message)
        guard reader.skipHeader() else { return [] }
        var records: [ServiceRecord] = []
        while let record = reader.nextAnswer() {
            guard record.type == DNSMessageReader.serviceType, let found = reader.serviceRecord(in: record.data) else { continue }
            records.append(found)
        }
        return records.sorted { ($0.priority, -Int($0.weight), $0.target) < ($1.priority, -Int($1.weight), $1.target) }
    }
}

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

/// Where a KDC is, as krb5.conf or an SRV record has it.
package struct KDCAddress: Sendable, Hashable, CustomStringConvertible {
    /// A name, or an address without brackets.
    package let host: String
    /// The port; 88 where nothing else is said (RFC 4120 section 7.2.3).
    package let port: UInt16

    /// Makes an address.
    package init(host: String, port: UInt16 = 88) {
        self.host = host
        self.port = port
    }

    /// Reads an entry of krb5.conf: `host`, `host:port`, `[v6]:port`. Nil for the URL of a KDC proxy.
    package init?(_ text: String) {
        guard !text.contains("/") else { return nil }
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            let rest = text[text.index(after: end)...]
            self.init(host: String(text[text.index(after: text.startIndex)..<end]), port: UInt16(rest.dropFirst()) ?? 88)
        } else if let colon = text.firstIndex(of: ":"), text.lastIndex(of: ":") == colon {
            self.init(host: String(text[..<colon]), port: UInt16(text[text.index(after: colon)...]) ?? 88)
        } else {
            self.init(host: text)
        }
    }

    /// `host:port`.
    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
