import Foundation
import FuzzerSupport
import HTTPNegotiate

/// Fuzzes host rules, origins and KDCs. The input is a rule, then a host or URL; both are parsed as every type that contains a host.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = Input(start, count)
    let (entry, host) = (input.text(), input.text())
    for text in [entry, host] {
        checkOrigin(text)
        checkKDC(text)
    }
    checkOrigin("https://" + host)
    guard let rule = try? HostRule(entry) else { return 0 }
    checkRule(rule)
    checkMatch(rule, host)
    // Most texts match no rule, so the rule's name is also appended to the text to get matches.
    for separator in ["", ".", "@", "/"] { checkMatch(rule, host + separator + rule.name) }
    checkMatch(rule, rule.name + host)
    return 0
}

private func checkRule(_ rule: HostRule) {
    check(
        (try? HostRule(rule.description)) == rule,
        "\(rule.description.debugDescription) does not survive a round trip through its description"
    )
    let name = rule.kind == .suffix ? String(rule.name.dropFirst()) : rule.name
    check(isHostName(name), "\(name.debugDescription) is not a host name")
    check(rule.matches(host: name) == (rule.kind == .exact), "\(rule) is wrong about its own name")
    check(!rule.matches(host: "x" + name), "\(rule) covers a name with a longer first label")
    check(!rule.matches(host: name + "x"), "\(rule) covers a name with a longer last label")
    check(!rule.matches(host: "a.\(name)." + (name.hasSuffix("z") ? "y" : "z")), "\(rule) covers a name below another domain")
    if rule.kind == .exact { check(!rule.matches(host: "a." + name), "\(rule) covers a subdomain") }
}

private func checkMatch(_ rule: HostRule, _ host: String) {
    guard rule.matches(host: host) else { return }
    var name = host.lowercased()
    if name.hasSuffix(".") { name.removeLast() }
    check(isHostName(name), "\(rule) covers \(host.debugDescription), which is not a host name")
    let ruleLabels = rule.name.split(separator: ".")
    let labels = name.split(separator: ".", omittingEmptySubsequences: false)
    check(labels.suffix(ruleLabels.count) == ruleLabels[...], "\(rule) covers \(host.debugDescription), although their labels differ")
    check((labels.count > ruleLabels.count) == (rule.kind == .suffix), "\(rule) covers \(host.debugDescription), at the wrong depth")
}

/// Whether a text is a host name, implemented independently of the library.
private func isHostName(_ text: String) -> Bool {
    let characters = Set("abcdefghijklmnopqrstuvwxyz0123456789-_")
    return text.utf8.count <= 253
        && text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.count) && label.allSatisfy(characters.contains) && label.first != "-" && label.last != "-"
        }
}

private func checkOrigin(_ text: String) {
    guard let origin = try? Origin(url: text) else { return }
    check((try? Origin(url: origin.description)) == origin, "\(origin) does not survive a round trip through its description")
    check((1...65535).contains(origin.port), "\(origin.port) is not a port")
    check(origin.isAddress || isHostName(origin.host), "\(origin.host.debugDescription) is not a host name")
    guard !origin.isAddress else { return }
    // A client may connect to the host that Foundation reads.
    guard let url = URL(string: text), var host = url.host(percentEncoded: true)?.lowercased() else {
        fatalError("Foundation finds no host in \(text.debugDescription)")
    }
    if host.hasSuffix(".") { host.removeLast() }
    check(host == origin.host, "Foundation reads \(host.debugDescription) in \(text.debugDescription), we read \(origin.host)")
    check((url.port ?? origin.scheme.defaultPort) == origin.port, "Foundation reads another port in \(text.debugDescription)")
}

private func checkKDC(_ text: String) {
    guard let kdc = try? PreferredKDC(text) else { return }
    check((try? PreferredKDC(kdc.description)) == kdc, "\(kdc) does not survive a round trip through its description")
    // The text is written to a line of a configuration file.
    check(kdc.mitSyntax.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "\(kdc.mitSyntax.debugDescription) would break its line of krb5.conf")
}
