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
