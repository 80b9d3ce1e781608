import FuzzerSupport

@testable import NegotiateProxy
@testable import SignOnPolicy

/// Fuzzes the entries of no_proxy, the addresses of upstream proxies, PAC files and their answers. The input is a list of entries, then a
/// host, an answer, and the bytes of a script.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = Input(start, count)
    let (list, host, answer) = (input.text(), input.text(), input.text())
    checkList(list, host)
    checkAnswer(answer, host)
    checkServer(host)
    checkURL(answer)
    checkScript(input.textBytes())
    return 0
}

private func checkList(_ list: String, _ host: String) {
    let noProxy = NoProxy(list)
    for ignored in noProxy.ignored { check(!ignored.reason.isEmpty, "\(ignored.entry.debugDescription) is ignored without a reason") }
    guard let entry = noProxy.entry(covering: host, port: 80) else { return }
    check(list.contains(entry), "the entry \(entry.debugDescription) is not in the list")
    check(!noProxy.ignored.contains { $0.entry == entry }, "the ignored entry \(entry.debugDescription) covers a host")
    let alone = NoProxy(entry)
    check(alone.entry(covering: host, port: 80) == entry, "\(entry.debugDescription) covers \(host.debugDescription) only in a list")
    // A name is covered by its own labels only: a longer first label belongs to another name.
    guard entry != "*", NetworkAddress(host) == nil else { return }
    var name = entry.lowercased()
    if let colon = name.lastIndex(of: ":") { name = String(name[..<colon]) }
    if name.hasPrefix(".") { name.removeFirst() }
    if name.hasSuffix(".") { name.removeLast() }
    check(alone.entry(covering: "x\(name)", port: 80) == nil, "\(entry.debugDescription) covers a name with a longer first label")
    check(alone.entry(covering: "a.\(name)", port: 80) != nil, "\(entry.debugDescription) does not cover a name below it")
}

private func checkAnswer(_ text: String, _ host: String) {
    guard let location = try? PACLocation("/proxy.pac") else { return }
    do throws(RoutingError) {
        let routes = try PACAnswer(text, for: "www.example", from: location).routes
        check((1...PACAnswer.limit).contains(routes.count), "\(routes.count) routes were read")
        check(Set(routes).count == routes.count, "a route was read twice")
        for case .upstream(let server) in routes { checkServer(server.description) }
        let again = try? PACAnswer(routes.map(\.description).joined(separator: "; "), for: "www.example", from: location).routes
        check(again == routes, "\(routes) do not survive a round trip")
    } catch {
        check(error.message.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }, "a message has a control character")
        check(error.message.utf8.count < 4096, "a message is long")
    }
}

private func checkServer(_ text: String) {
    guard let server = try? ProxyServer(text) else { return }
    check((1...65535).contains(server.port), "\(server.port) is not a port")
    check(server.host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "\(server.host.debugDescription) is not a host")
    check((try? ProxyServer(server.description)) == server, "\(server) does not survive a round trip")
}

private func checkURL(_ text: String) {
    let url = PACURL.text(for: RouteTarget(url: text, host: "a", port: 80))
    check(PACEngine.needsNoEscape(url), "\(url.debugDescription) ends the text in the script")
    _ = try? PACLocation(text).redirected(to: text)
}

private func checkScript(_ bytes: [UInt8]) {
    guard let script = try? PACScript(bytes) else { return }
    check(script.text.utf8.allSatisfy { $0 > 0 && $0 < 0x80 }, "a script for the engine is not ASCII")
}
