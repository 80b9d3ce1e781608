import Foundation
import FuzzerSupport
import HTTPTypes

@testable import HTTPNegotiate
@testable import NegotiateProxy
@testable import SignOnPolicy

/// Fuzzes redirects, what the local proxy changes in reverse mode, and what it reads from the kernel and the process that evaluates
/// PAC files. The first byte selects the kind of the rest.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = Input(start, count)
    switch input.kind(of: 6) {
    case 0: checkCookie(input.text())
    case 1: checkSite(input.rest())
    case 2: checkTable(input.text())
    case 3: checkDiagnosis(input.rest())
    case 4: checkLine(input.rest())
    default: checkRedirect(status: Int(input.byte()), input.text(), input.text(), input.text())
    }
    return 0
}

/// A cookie is for this site alone, and its name is the server's again when it is sent.
private func checkCookie(_ value: String) {
    let received = SiteCookie.received(value)
    let attributes = received.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).dropFirst().map { part in
        String(decoding: part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)[0], as: UTF8.self)
            .trimmingCharacters(in: CharacterSet(charactersIn: " \t")).lowercased()
    }
    for name in ["secure", "domain", "partitioned"] { check(!attributes.contains(name), "\(received.debugDescription) has \(name)") }
    let isControl: (UInt8) -> Bool = { $0 == 0 || $0 == 10 || $0 == 13 }
    check(!received.utf8.contains(where: isControl) || value.utf8.contains(where: isControl), "a cookie has a new line")
    // By bytes: a combining character joins a semicolon to one Character.
    let pair = String(Substring(received.utf8.prefix { $0 != UInt8(ascii: ";") }))
    let original = String(Substring(value.utf8.prefix { $0 != UInt8(ascii: ";") }))
    // Only the case of a prefix may change.
    check(
        SiteCookie.sent(pair).lowercased() == original.lowercased() || original.lowercased().contains("__site-"),
        "\(original.debugDescription) comes back as \(SiteCookie.sent(pair).debugDescription)"
    )
}

/// A translated request names the server, and nothing of this site; a response that was translated is not changed again.
private func checkSite(_ bytes: [UInt8]) {
    guard let remote = try? Origin(url: "https://www.example.test/") else { return }
    let own = TCPSocketName(address: [127, 0, 0, 1], port: 8408)
    if let head = try? HeadParser.request(bytes) {
        guard let (site, path) = try? LocalSite.read(head, at: own, for: remote) else { return }
        check(site.local.description == "http://127.0.0.1:8408", "\(site.local) is another address")
        check(path.isEmpty || path.hasPrefix("/") || path.hasPrefix("?"), "\(path.debugDescription) is not a path")
        let sent = site.request(head)
        check(sent.fields.all.map(\.name) == head.fields.all.map(\.name), "the fields have changed")
        for field in sent.fields.all { checkValue(field.value) }
        for origin in sent.fields["Origin"] { check((try? Origin(url: origin)) != site.local, "the server sees this site's origin") }
    } else if let head = try? HeadParser.response(bytes), let local = try? Origin(url: "http://127.0.0.1:8408/") {
        let site = LocalSite(local: local, remote: remote)
        var fields = head.fields
        site.translate(response: &fields)
        for field in fields.all { checkValue(field.value) }
        check(!fields.contains("Strict-Transport-Security"), "the browser is told to use TLS")
        // A URL with a user is not translated.
        for location in fields["Location"] where !location.contains("@") {
            check((try? Origin(url: location)) != remote, "\(location) leads past this site")
        }
    }
}

private func checkValue(_ value: [UInt8]) { check(!value.contains { $0 == 0 || $0 == 10 || $0 == 13 }, "a value ends its line") }

/// A user is found only in a line with both ends of the connection.
private func checkTable(_ text: String) {
    let (client, server) = (TCPSocketName(address: [127, 0, 0, 1], port: 8080), TCPSocketName(address: [127, 0, 0, 1], port: 443))
    guard let user = ProcessFileTable.userID(in: text, from: client, to: server) else { return }
    let words = text.uppercased()
    check(words.contains("\(user)") && words.contains("1F90") && words.contains("1BB"), "\(user) is not in the table")
}

private func checkDiagnosis(_ bytes: [UInt8]) {
    guard bytes.count >= 20 else { return }
    let (client, server) = (TCPSocketName(address: [127, 0, 0, 1], port: 8080), TCPSocketName(address: [127, 0, 0, 1], port: 443))
    guard case .found = SocketDiagnosis.answer(bytes, client, server) else { return }
    check(bytes.count >= 88 && bytes[20..<24].elementsEqual([0x1F, 0x90, 0x01, 0xBB]), "a user of another connection is found")
}

/// A message of a PAC process survives a round trip in one line.
private func checkLine(_ bytes: [UInt8]) {
    if let reply = PACLine.decode(bytes, as: PACReply.self) {
        let line = PACLine.encode(reply)
        check(line.firstIndex(of: 10) == line.count - 1, "a message has two lines")
        check(PACLine.decode(line, as: PACReply.self) == reply, "a reply does not survive a round trip")
    }
    if let request = PACLine.decode(bytes, as: PACRequest.self) {
        let line = PACLine.encode(request)
        check(line.firstIndex(of: 10) == line.count - 1, "a message has two lines")
        check(PACLine.decode(line, as: PACRequest.self) == request, "a request does not survive a round trip")
    }
}

private struct FuzzedRequest: NegotiableRequest {
    var url: String
    var methodName: String
    var fields = HTTPFields()
    var isReplayable = true

    func hasField(_ name: String) -> Bool { HTTPField.Name(name).map { fields.contains($0) } ?? false }
    mutating func removeField(_ name: String) { if let name = HTTPField.Name(name) { fields[name] = nil } }
    mutating func replace(with fields: HTTPFields) { for field in fields { self.fields[field.name] = field.value } }
    mutating func removeBody() {}
    mutating func makeReplayable(upTo limit: Int, for origin: Origin) async throws {}
}

private struct FuzzedResponse: NegotiableResponse {
    var statusCode: Int
    var location: String
    var isMultiplexed: Bool { false }
    var channelBindings: [UInt8]? { nil }

    func fieldValues(_ name: String) -> [String] { name == "Location" ? [location] : [] }
    func drain() async {}
}

/// A redirect does not lead from TLS to none, keeps no secret for another origin, and goes where Foundation says.
private func checkRedirect(status: Int, _ url: String, _ method: String, _ location: String) {
    guard let origin = try? Origin(url: url) else { return }
    var request = FuzzedRequest(url: url, methodName: method)
    for name in ["Authorization", "Cookie", "Proxy-Authorization", "Accept"] { request.removeField(name) }
    request.fields[.authorization] = "secret"
    request.fields[.cookie] = "secret"
    request.fields[.accept] = "*/*"
    let response = FuzzedResponse(statusCode: 300 + status % 10, location: location)
    guard let redirect = try? Redirect(from: request, origin: origin, response: response) else { return }
    let next = redirect.request
    guard let target = try? Origin(url: next.url) else { fatalError("\(next.url.debugDescription) is not followed") }
    check(origin.scheme == .http || target.scheme == .https, "a redirect leads to \(target)")
    check(next.hasField("Accept"), "a field is lost")
    check(target == origin || !next.hasField("Authorization") && !next.hasField("Cookie"), "a secret is sent to \(target)")
    if let host = URL(string: next.url)?.host(percentEncoded: true)?.lowercased(), !target.isAddress {
        check(host == target.host || host == target.host + ".", "Foundation reads the host \(host), we read \(target.host)")
    }
}
