internal import CKerberos
internal import SystemSupport

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Queries the machine's name service for a diagnosis. Each call blocks a thread of its own.
package enum NameService {
    /// The result of a DNS query.
    package enum Records<Record: Sendable & Hashable>: Sendable, Hashable {
        /// The records, in the order in which to try them.
        case found([Record])
        /// There are no such records.
        case none
        /// No DNS server answered.
        case noAnswer
    }

    /// A host and its addresses.
    package struct Host: Sendable, Hashable {
        /// The name that an alias leads to. libkrb5 uses it for service principals if it canonicalizes names.
        package let canonicalName: String
        /// The numeric addresses, in order.
        package let addresses: [String]
    }

    /// The result of a lookup of a host's name.
    package enum Lookup: Sendable, Hashable {
        /// The host exists.
        case found(Host)
        /// There is no such host.
        case unknown
        /// No source answered, so that the host may exist.
        case noAnswer

        /// The host; nil if it was not found.
        package var host: Host? { if case .found(let host) = self { host } else { nil } }
    }

    /// Whether a name server answers a query that contains no name, the one for the servers of the root.
    package static func isAnswering(secondsPerServer: Int) async -> Bool {
        await records(".", DNSMessageReader.nameServerType, secondsPerServer) { _ in [ServiceRecord]() } != .noAnswer
    }

    /// Queries DNS for SRV records, such as `_kerberos._udp.EXAMPLE.COM`. Waits about the given number of seconds for each server.
    package static func serviceRecords(_ name: String, secondsPerServer: Int) async -> Records<ServiceRecord> {
        await records(name, DNSMessageReader.serviceType, secondsPerServer, ServiceRecord.records)
    }

    /// Queries DNS for URI records, such as `_kerberos.EXAMPLE.COM`. Waits about the given number of seconds for each server.
    package static func locationRecords(_ name: String, secondsPerServer: Int) async -> Records<LocationRecord> {
        await records(name, DNSMessageReader.uriType, secondsPerServer, LocationRecord.records)
    }

    private static func records<Record>(
        _ name: String,
        _ type: UInt16,
        _ seconds: Int,
        _ read: @escaping @Sendable ([UInt8]) -> [Record]
    ) async -> Records<Record> {
        await BlockingCall.run {
            var answer = [UInt8](repeating: 0, count: 16384)
            let length = answer.withUnsafeMutableBufferPointer { buffer in
                ckerberos_query_dns(name, Int32(type), Int32(seconds), buffer.baseAddress, Int32(buffer.count))
            }
            guard length >= 0 else { return length == -1 ? .none : .noAnswer }
            let records = read(Array(answer.prefix(Int(length))))
            return records.isEmpty ? .none : .found(records)
        }
    }

    /// Resolves a host name as programs usually do (`getaddrinfo`): by the hosts file, DNS or other sources. Waits as long as the system's
    /// resolver does.
    package static func lookUp(_ name: String) async -> Lookup {
        guard !isAddress(name) else { return .found(Host(canonicalName: name, addresses: [name])) }
        return await BlockingCall.run {
            var hints = addrinfo()
            hints.ai_flags = AI_CANONNAME
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
            var list: UnsafeMutablePointer<addrinfo>?
            let status = getaddrinfo(name, nil, &hints, &list)
            guard status == 0, let first = list else { return noAnswers.contains(status) ? .noAnswer : .unknown }
            defer { freeaddrinfo(list) }
            var addresses: [String] = []
            var next: UnsafeMutablePointer<addrinfo>? = first
            while let entry = next {
                if let text = number(of: entry.pointee), !addresses.contains(text) { addresses.append(text) }
                next = entry.pointee.ai_next
            }
            return .found(Host(canonicalName: first.pointee.ai_canonname.map { String(cString: $0) } ?? name, addresses: addresses))
        }
    }

    /// The errors of `getaddrinfo` that do not mean that the host does not exist.
    private static let noAnswers = [EAI_AGAIN, EAI_FAIL, EAI_SYSTEM]

    private static func isAddress(_ text: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1
    }

    private static func number(of entry: addrinfo) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            let status = getnameinfo(entry.ai_addr, entry.ai_addrlen, buffer.baseAddress, socklen_t(buffer.count), nil, 0, NI_NUMERICHOST)
            return status == 0 ? buffer.baseAddress.map { String(cString: $0) } : nil
        }
    }
}
