internal import Foundation

/// The URLs that are passed to PAC files.
enum PACURL {
    /// The URL as browsers pass it to a PAC file: without the scheme's own port, and for https without the path, which only the
    /// client and the server of a tunnel may know.
    static func text(for target: RouteTarget) -> String {
        var url = target.url
        if let fragment = url.firstIndex(of: "#") { url = String(url[..<fragment]) }
        guard let separator = url.range(of: "://") else { return escape(url) }
        let scheme = url[..<separator.lowerBound].lowercased()
        let rest = url[separator.upperBound...]
        var authority = rest.prefix { !"/?".contains($0) }
        var path = rest[authority.endIndex...]
        if let at = authority.lastIndex(of: "@") { authority = authority[authority.index(after: at)...] }
        let ownPort = scheme == "https" ? ":443" : scheme == "http" ? ":80" : ""
        if !ownPort.isEmpty, authority.hasSuffix(ownPort) { authority = authority.dropLast(ownPort.count) }
        if scheme == "https" { path = "/" }
        return escape("\(scheme)://\(authority)\(path.hasPrefix("/") ? "" : "/")\(path)")
    }

    /// The text with every character percent-encoded that could end the text in the script into which the engine inserts it.
    static func escape(_ text: String) -> String {
        guard !PACEngine.needsNoEscape(text) else { return text }
        return text.utf8.reduce(into: "") { result, byte in
            let character = String(Unicode.Scalar(byte))
            if byte < 0x80, PACEngine.needsNoEscape(character) {
                result += character
            } else {
                result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
    }
}
