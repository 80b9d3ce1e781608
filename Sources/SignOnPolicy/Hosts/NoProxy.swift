/// The hosts that are reached without an upstream proxy: the list of the variable `no_proxy`, read as curl reads it.
///
/// ```swift
/// let noProxy = NoProxy("localhost, .corp.example, 10.0.0.0/8")
/// noProxy.entry(covering: "www.corp.example", port: 443)     // the entry as written, or nil
/// ```
///
/// | entry | covers |
/// |---|---|
/// | `corp.example` or `.corp.example` | the name and all names below it, but not `mycorp.example` |
/// | `corp.example:8080` | the same at one port |
/// | `192.0.2.1`, `2001:db8::1`, `[2001:db8::1]`, each with a port (an IPv6 address then in brackets) | the address |
/// | `10.0.0.0/8`, `2001:db8::/32` | the addresses with these first bits |
/// | `*` as the only entry | every host |
///
/// Entries are separated by commas or white space. Case and one trailing dot make no difference. A name is never resolved, so an
/// entry with an address covers only requests to an address.
///
/// curl differs in these points: it compares an entry with a port or with brackets as a name, which no host has; recent versions stop
/// reading at white space without a comma; it does not compare IPv4-mapped IPv6 addresses with IPv4 addresses; and it reads the
/// prefix length 0 as a whole address. The fixture `no-proxy.json` of the tests marks each difference, and a test compares the rest
/// with the installed curl.
///
/// Other programs read the same list differently: for Go's standard library, `.corp.example` does not cover `corp.example` itself. The
/// `*.corp.example` of browsers' bypass lists covers no host here, and is reported in ``ignored``.
package struct NoProxy: Sendable, Hashable {
    /// An entry that covers no host.
    package struct IgnoredEntry: Sendable, Hashable {
        /// The entry as written.
        package let entry: String
        /// A clause to follow the entry: what is wrong, and what to write instead.
        package let reason: String
    }

    private let entries: [NoProxyEntry]
    /// The entries that cover no host.
    package let ignored: [IgnoredEntry]

    /// Reads a list with commas or white space between the entries.
    package init(_ list: String) {
        var (entries, ignored): ([NoProxyEntry], [IgnoredEntry]) = ([], [])
        let texts = list.split { $0 == "," || $0.isWhitespace }.map(String.init)
        for text in texts {
            do throws(NoProxyEntry.Problem) {
                entries.append(try NoProxyEntry(text, isAlone: texts.count == 1))
            } catch {
                ignored.append(IgnoredEntry(entry: text, reason: error.reason))
            }
        }
        (self.entries, self.ignored) = (entries, ignored)
    }

    /// Reads the entries of a profile.
    package init(entries: [String]) { self.init(entries.joined(separator: ",")) }

    /// The first entry that covers a host at a port, as written; nil if no entry covers it.
    ///
    /// - Parameter host: A name or an address; an IPv6 address without brackets.
    package func entry(covering host: String, port: Int) -> String? {
        guard !entries.isEmpty else { return nil }
        let host = NoProxyHost(host)
        return entries.first { $0.covers(host, port: port) }?.text
    }
}

/// The host of a target, parsed once for all entries.
enum NoProxyHost {
    case address(NetworkAddress)
    /// In lower case, without the trailing dot.
    case name(String)

    init(_ text: String) {
        if let address = NetworkAddress(text) {
            self = .address(address)
        } else {
            let name = text.asciiLowercased
            self = .name(name.hasSuffix(".") ? String(name.dropLast()) : name)
        }
    }
}
