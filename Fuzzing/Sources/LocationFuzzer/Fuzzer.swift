import CKerberos
import Foundation
import FuzzerSupport

@testable import Kerberos

/// Fuzzes what DNS servers and domain controllers send, and the file of sites. The first byte selects the kind of the rest.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = Input(start, count)
    switch input.kind(of: 5) {
    case 0: checkServices(input.rest())
    case 1: checkLocations(input.rest())
    case 2: checkNetlogon(input.rest())
    case 3: checkElements(input.rest())
    default: checkSites(input.rest())
    }
    return 0
}

/// Compares the records with libresolv's.
private func checkServices(_ bytes: [UInt8]) {
    let records = ServiceRecord.records(in: bytes)
    check(records.count <= bytes.count / 11, "there are more records than fit")
    for record in records {
        // A replacement character takes three bytes.
        check(record.target.utf8.count <= 3 * 255, "a name is longer than 255 bytes")
    }
    check(records.map(\.priority) == records.map(\.priority).sorted(), "the records are not sorted")
    let shorter = ServiceRecord.records(in: Array(bytes.dropLast()))
    check(shorter.allSatisfy(records.contains), "a truncated response has other records")
    guard let reference = referenceRecords(bytes) else { return }
    for record in records where DomainLocator.isHost(record.target) {
        check(reference.contains(record), "libresolv does not find \(record)")
    }
}

/// The SRV records that libresolv reads; nil if it refuses the response or one of its records, such as for the name of its owner, which is
/// not read here.
private func referenceRecords(_ bytes: [UInt8]) -> [ServiceRecord]? {
    var handle = ns_msg()
    return bytes.withUnsafeBufferPointer { buffer -> [ServiceRecord]? in
        guard let base = buffer.baseAddress, bytes.count <= 65535, ns_initparse(base, CInt(buffer.count), &handle) == 0 else { return nil }
        let count = bytes.count >= 8 ? Int(bytes[6]) << 8 | Int(bytes[7]) : 0
        var records: [ServiceRecord] = []
        for index in 0..<count {
            var record = ns_rr()
            guard ns_parserr(&handle, ns_s_an, CInt(index), &record) == 0 else { return nil }
            guard record.type == 33, record.rdlength > 6, let data = record.rdata else { continue }
            var name = [CChar](repeating: 0, count: 1025)
            guard dn_expand(base, base + buffer.count, data + 6, &name, CInt(name.count)) >= 0 else { continue }
            func number(_ offset: Int) -> UInt16 { UInt16(data[offset]) << 8 | UInt16(data[offset + 1]) }
            let target = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            records.append(ServiceRecord(priority: number(0), weight: number(2), port: number(4), target: target))
        }
        return records
    }
}

private func checkLocations(_ bytes: [UInt8]) {
    let records = LocationRecord.records(in: bytes)
    check(records.count <= bytes.count / 11, "there are more records than fit")
    check(records.map(\.priority) == records.map(\.priority).sorted(), "the records are not sorted")
    for record in records {
        switch record.place {
        case .proxy(let url): check(!url.isEmpty && !url.utf8.contains(0), "a URL is empty or contains a zero byte")
        case .keyDistributionCenter(let address, _):
            check(!address.host.contains("/") && !address.host.utf8.contains(0), "\(address.host.debugDescription) is not a host")
            guard DomainLocator.isHost(address.host) else { continue }
            check(KDCAddress(address.description) == address, "\(address) does not survive a round trip")
        }
    }
}

/// Neither bytes after an answer nor a missing end make another answer of it.
private func checkNetlogon(_ bytes: [UInt8]) {
    let answer = NetlogonAnswer(bytes)
    if let answer {
        check(!answer.domain.isEmpty && !answer.host.isEmpty, "an answer lacks its domain or host")
        check(answer.clientSite?.isEmpty != true, "the site is empty")
        check(NetlogonAnswer(bytes + bytes) == answer, "bytes after an answer change it")
    }
    guard bytes.count <= 2048 else { return }
    for count in bytes.indices {
        let shorter = NetlogonAnswer(Array(bytes[..<count]))
        check(shorter == nil || shorter == answer, "a truncated answer is another one")
    }
}

/// An element that is read is the same when it is written again.
private func checkElements(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while let tag = rest.first {
        let before = rest.count
        guard let content = BasicEncoding.next(in: &rest, tag) else {
            check(rest.count == before, "an element that is refused is removed")
            return
        }
        check(rest.count + content.count + 2 <= before, "an element is shorter than its content")
        var again = BasicEncoding.element(tag, Array(content))[...]
        check(BasicEncoding.next(in: &again, tag)?.elementsEqual(content) == true && again.isEmpty, "an element has changed")
    }
}

private let file = NSTemporaryDirectory() + "/location-fuzzer-\(getpid()).json"

/// A damaged file is harmless, and is replaced.
private func checkSites(_ bytes: [UInt8]) {
    guard FileManager.default.createFile(atPath: file, contents: Data(bytes)) else { return }
    defer { unlink(file) }
    let cache = SiteCache(path: file)
    for entry in cache.entries() {
        guard let site = cache.site(of: entry.realm, in: entry.network) else { continue }
        check(DomainLocator.isSite(site), "\(site.debugDescription) is not a site")
    }
    cache.store("Berlin", of: "EXAMPLE.TEST", in: "192.0.2.0/24", at: Date(timeIntervalSince1970: 1_700_000_000))
    check(cache.site(of: "EXAMPLE.TEST", in: "192.0.2.0/24") == "Berlin", "a site is not remembered")
    check(cache.entries().count <= 64, "too many networks are remembered")
}
