import Foundation
import FuzzerSupport
import NegotiateProxy
import SignOnPolicy

/// Fuzzes what the local proxy reads from clients and servers. The input is a byte that selects a kind, and a head or a chunked body.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let kind = bytes.first else { return 0 }
    let text = Array(bytes.dropFirst())
    switch kind % 3 {
    case 0: if let head = head(text) { checkRequest(head) }
    case 1: if let head = head(text) { checkResponse(head) }
    default: checkBody(text)
    }
    return 0
}

/// The head at the start of the bytes; the same however it arrives.
private func head(_ bytes: [UInt8]) -> [UInt8]? {
    let whole = try? HeadParser.length(of: bytes)
    var searched = 0
    for size in stride(from: 7, to: bytes.count, by: 7) {
        let found: Int?
        do { found = try HeadParser.length(of: bytes.prefix(size), searched: searched) } catch { return nil }
        if let found {
            check(found == whole, "the head ends at \(found), or at \(String(describing: whole))")
            break
        }
        searched = size
    }
    return whole.map { Array(bytes.prefix($0)) }
}

private func checkRequest(_ bytes: [UInt8]) {
    guard var head = try? HeadParser.request(bytes) else { return }
    checkFields(head.fields)
    let framing = try? head.framing()
    if let framing { checkFraming(framing, head.fields) }
    if let target = try? RequestTarget(head) { checkTarget(target, head) }
    head.minorVersion = 1
    check((try? HeadParser.request(head.bytes)) == head, "the request does not survive a round trip")
    if framing != nil { check((try? head.framing()) == framing, "the framing depends on the version") }
}

private func checkResponse(_ bytes: [UInt8]) {
    guard var head = try? HeadParser.response(bytes) else { return }
    checkFields(head.fields)
    check(100..<600 ~= head.status, "\(head.status) is not a status")
    if let framing = try? head.framing(to: "GET") {
        checkFraming(framing, head.fields)
        check((try? head.framing(to: "HEAD")) == BodyFraming.none, "a response to HEAD has a body")
    }
    head.minorVersion = 1
    check((try? HeadParser.response(head.bytes)) == head, "the response does not survive a round trip")
}

private func checkFields(_ fields: HeadFields) {
    check(fields.all.count <= HeadParser.maximumFields, "there are too many fields")
    for field in fields.all {
        check(
            !field.name.isEmpty && !field.name.contains { ": \t\r\n\0".contains($0) },
            "the name \(field.name.debugDescription) is invalid"
        )
        check(!field.value.contains { $0 == 0 || $0 == 10 || $0 == 13 }, "the value of \(field.name) ends its line")
    }
    var forwarded = fields
    guard (try? HopByHop.remove(from: &forwarded)) != nil else { return }
    for name in ["Connection", "Transfer-Encoding", "Proxy-Authorization", "Proxy-Authenticate", "Upgrade"] {
        check(!forwarded.contains(name), "\(name) is forwarded")
    }
    for name in ["Host", "Content-Length", "Authorization"] {
        check(forwarded.values(name) == fields.values(name), "\(name) is not forwarded")
    }
}

/// Compares the framing with what a recipient with other rules would read.
private func checkFraming(_ framing: BodyFraming, _ fields: HeadFields) {
    let lines = fields.all.map { ($0.name.lowercased(), String(decoding: $0.value, as: UTF8.self)) }
    let lengths = lines.filter { $0.0 == "content-length" }.map(\.1)
    let codings = lines.filter { $0.0 == "transfer-encoding" }.map(\.1)
    check(lengths.count <= 1 && (lengths.isEmpty || codings.isEmpty), "two recipients could read different ends")
    switch framing {
    case .length(let length): check(lengths == lengths.filter { Int($0) == length }, "another length than \(length) is stated")
    case .chunked: check(codings.map { $0.lowercased() } == ["chunked"], "the coding is not chunked alone")
    case .none, .untilClose: check(codings.isEmpty || framing == .none, "a coding is ignored")
    }
}

private func checkTarget(_ target: RequestTarget, _ head: RequestHead) {
    guard case .resource(let origin, let path) = target else { return }
    check(origin.scheme == .http, "\(origin) is not http")
    check(path.isEmpty || path.hasPrefix("/") || path.hasPrefix("?"), "\(path.debugDescription) is not a path")
    // Browsers send characters that no URL contains, such as |, and they are forwarded as they are.
    let escaped = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed.union(["?"])) ?? ""
    check((try? Origin(url: "\(origin)\(escaped)")) == origin, "the forwarded URL has another origin")
    guard !origin.isAddress, let url = URL(string: head.target), var host = url.host(percentEncoded: true)?.lowercased() else { return }
    if host.hasSuffix(".") { host.removeLast() }
    check(host == origin.host, "Foundation reads \(host.debugDescription), we read \(origin.host)")
}

/// A chunked body ends at the same place however it arrives.
private func checkBody(_ bytes: [UInt8]) {
    let whole = decoded(bytes, pieceSize: bytes.count + 1)
    let pieces = decoded(bytes, pieceSize: 3)
    // A piece may show an error earlier, but never another body.
    guard let whole, let pieces else { return }
    check(whole == pieces, "the body depends on how it arrives")
    check(whole.used <= bytes.count, "more was used than there is")
}

private struct DecodedBody: Equatable {
    var content: [UInt8] = []
    var trailers = HeadFields()
    var used = 0
}

private func decoded(_ bytes: [UInt8], pieceSize: Int) -> DecodedBody? {
    var decoder = BodyDecoder(.chunked)
    var body = DecodedBody()
    var available = min(pieceSize, bytes.count)
    while true {
        guard let step = try? decoder.next(bytes[body.used..<available]) else { return nil }
        switch step {
        case .content(let count):
            body.content += bytes[body.used..<(body.used + count)]
            body.used += count
        case .framing(let count): body.used += count
        case .incomplete:
            guard available < bytes.count else { return nil }
            available = min(available + pieceSize, bytes.count)
        case .end(let trailers):
            body.trailers = trailers
            return body
        }
    }
}
