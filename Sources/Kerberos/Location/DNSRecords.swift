/// The location of a service: one SRV record (RFC 2782).
package struct ServiceRecord: Sendable, Hashable {
    /// The priority; lower values are tried first.
    package let priority: UInt16
    /// The relative weight among records of the same priority.
    package let weight: UInt16
    /// The port.
    package let port: UInt16
    /// The host, without the trailing dot; empty if the domain declares that it has no such service.
    package let target: String

    /// Creates a record.
    package init(priority: UInt16, weight: UInt16, port: UInt16, target: String) {
        self.priority = priority
        self.weight = weight
        self.port = port
        self.target = target
    }
}

extension ServiceRecord {
    /// Reads the SRV records of a response (RFC 1035 section 4.1), in the order in which to try them. Stops at malformed data and returns
    /// the records before it.
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

/// The location of a KDC: one URI record (RFC 7553) as libkrb5 reads it, such as `krb5srv:m:tcp:kdc.example.com:88`.
package struct LocationRecord: Sendable, Hashable {
    /// The kind of server at the location.
    package enum Place: Sendable, Hashable {
        case keyDistributionCenter(KDCAddress, KDCProbe.Transport)
        /// A KDC proxy ([MS-KKDCP]) and its URL.
        case proxy(String)
    }

    /// The priority; lower values are tried first.
    package let priority: UInt16
    /// The relative weight among records of the same priority.
    package let weight: UInt16
    /// The server.
    package let place: Place
}

extension LocationRecord {
    /// Parses the scheme, flags, transport and location. Nil for what libkrb5 ignores too, except a proxy URL that is not https: it is kept
    /// so that it can be reported.
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

    /// Reads the URI records of a response (RFC 1035 section 4.1), in the order in which to try them. Stops at malformed data and returns
    /// the records before it.
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

/// The address of a KDC, as in krb5.conf or an SRV record.
package struct KDCAddress: Sendable, Hashable, CustomStringConvertible {
    /// A host name, or an address without brackets.
    package let host: String
    /// The port; 88 by default (RFC 4120 section 7.2.3).
    package let port: UInt16

    /// Creates an address.
    package init(host: String, port: UInt16 = 88) {
        self.host = host
        self.port = port
    }

    /// Parses a krb5.conf entry: `host`, `host:port`, `[v6]:port`. Nil for the URL of a KDC proxy.
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
