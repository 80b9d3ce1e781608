internal import Foundation
internal import SignOnPolicy
internal import SystemSupport

/// Where a PAC file is: an absolute path, or a URL with the scheme `file`, `http` or `https`.
package struct PACLocation: Sendable, Hashable, CustomStringConvertible {
    /// The ways to read the file.
    enum Place: Hashable {
        case file(String)
        /// A server, and the path and query for its request line.
        case server(Origin, target: String)
    }

    let place: Place
    /// The location as it was configured.
    private let text: String
    /// The location for messages.
    package let description: String

    /// Parses a path or URL.
    ///
    /// - Throws: A `RoutingError` that names the location and says what is not supported.
    package init(_ text: String) throws(RoutingError) {
        let shown = text.escapedForDisplay(limit: 500)
        (self.text, description) = (text, shown)
        if text.hasPrefix("/") {
            place = .file(text)
            return
        }
        guard let separator = text.range(of: "://") else {
            throw RoutingError(
                "The location “\(shown)” of the PAC file is neither an absolute path nor a URL: write it with http://, https:// or a leading slash."
            )
        }
        let rest = text[separator.upperBound...]
        switch text[..<separator.lowerBound].lowercased() {
        case "file":
            let path = rest.drop { $0 != "/" }
            guard ["", "localhost"].contains(rest.prefix { $0 != "/" }.lowercased()), let decoded = String(path).removingPercentEncoding,
                !path.isEmpty
            else {
                throw RoutingError("The URL \(shown) of the PAC file names no file of this machine: write it as in file:///etc/proxy.pac.")
            }
            place = .file(decoded)
        case "http", "https":
            guard !rest.prefix(while: { !"/?#".contains($0) }).contains("@") else {
                throw RoutingError("The URL of the PAC file has a user name, which is not supported: remove the part before the “@”.")
            }
            do throws(AuthorizationError) {
                place = .server(try Origin(url: text), target: Self.requestTarget(rest))
            } catch {
                throw RoutingError("The URL \(shown) of the PAC file is not valid: \(error.message)")
            }
        default:
            throw RoutingError("The URL \(shown) of the PAC file has an unsupported scheme: use http, https or file.")
        }
    }

    /// The location to which a server redirects; nil if the text is not a URL or has another scheme.
    func redirected(to target: String) -> PACLocation? {
        guard case .server(let origin, _) = place, let base = URL(string: self.text),
            let absolute = URL(string: target, relativeTo: base)?.absoluteString, let location = try? PACLocation(absolute),
            case .server(let other, _) = location.place, other.scheme == origin.scheme
        else { return nil }
        return location
    }

    /// The path and query after an authority, for the request line.
    private static func requestTarget(_ rest: Substring) -> String {
        let target = rest.drop { !"/?#".contains($0) }.prefix { $0 != "#" }
        return target.hasPrefix("/") ? String(target) : "/\(target)"
    }
}
