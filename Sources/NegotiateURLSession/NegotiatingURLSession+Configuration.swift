public import Foundation
public import FoundationNetworking
public import HTTPNegotiate

extension NegotiatingURLSession {
    /// How requests are sent and challenges answered.
    public struct Configuration: Sendable {
        /// Whether a server must prove itself before its response is handed on. Nil, the default, leaves it to the profile, which says so
        /// unless it names the host in one of its lists.
        public var mutualAuthentication: MutualAuthentication?
        /// How many requests with our `Authorization` field one exchange may send. Kerberos needs one; by default 4.
        public var maximumLegs: Int
        /// How many redirects are followed. By default 5; with 0 every 3xx is handed on.
        public var maximumRedirects: Int
        /// How many bytes of a body that is a stream are kept in memory, so that it can be sent again. By default 1 MiB.
        public var maximumReplayableBody: Int
        /// The principal that answers, when several are signed in. By default the extension chooses.
        public var principal: String?
        /// Whether the extension may ask the user. Off by default.
        public var isUserInterfaceEnabled: Bool
        /// Time for everything up to the head of the last response: connections, tickets, legs, redirects, and sending bodies. By default
        /// 60 seconds; allow more for large uploads. A body that is received is not counted: `timeoutIntervalForRequest` of ``session``
        /// bounds its pauses.
        public var timeout: Duration
        /// Where downloads are written. By default the folder for temporary files; one on the disk where they are to stay makes moving them
        /// cheap.
        public var downloadDirectory: URL
        /// The template of the sessions: cookies, `timeoutIntervalForRequest`, `httpAdditionalHeaders` and the like. By default
        /// `URLSessionConfiguration.ephemeral`: cookies are kept in memory, for all requests of the session.
        ///
        /// A server may put a signed-in session into a cookie. It then goes along with requests of another principal and without a ticket,
        /// and outlives a sign-out; give each user a session of its own. `URLSessionConfiguration.default` shares cookies with the whole
        /// process and writes some of them to disk, readable by others.
        ///
        /// Caches and stored credentials are always off here, `httpMaximumConnectionsPerHost` counts for requests without tickets only, and
        /// an `Authorization` among the additional headers is taken as each request's own.
        public var session: URLSessionConfiguration

        /// Makes a configuration with the defaults.
        public init() {
            maximumLegs = 4
            maximumRedirects = 5
            maximumReplayableBody = 1 << 20
            isUserInterfaceEnabled = false
            timeout = .seconds(60)
            downloadDirectory = FileManager.default.temporaryDirectory
            session = .ephemeral
        }

        /// The same, without ties to a template that its maker may change.
        var detached: Configuration {
            var configuration = self
            configuration.session = session.duplicate
            return configuration
        }

        /// The template's fields. They go with the request, and not with the session, which would send them to any host.
        var additionalFields: [String: String] {
            var fields: [String: String] = [:]
            for (name, value) in session.httpAdditionalHeaders ?? [:] { fields["\(name)"] = "\(value)" }
            return fields
        }

        func settings(unboundTLS: UnboundTLS) -> CallSettings {
            CallSettings(
                mutualAuthentication: mutualAuthentication,
                unboundTLS: unboundTLS,
                maximumLegs: maximumLegs,
                maximumRedirects: maximumRedirects,
                maximumReplayableBody: maximumReplayableBody,
                principal: principal,
                isUserInterfaceEnabled: isUserInterfaceEnabled
            )
        }
    }
}

extension URLSessionConfiguration {
    /// A copy.
    var duplicate: URLSessionConfiguration { copy() as? URLSessionConfiguration ?? self }
}
