public import Kerberos
import Synchronization

/// An HTTP/1.1 server that asks for Kerberos and judges the tokens with this package's own acceptor.
///
/// Unlike Apache it can demand channel bindings, it can be told to break the rules, and it remembers what it was sent. Any path and any
/// method will do: an accepted request gets 200 and `Hello alice@EXAMPLE.TEST`, any other 401. Get one from
/// ``withAcceptorServer(realm:_:_:)``. It is safe to use from any task.
public final class AcceptorServer: Sendable {
    /// The address without a path, such as `https://localhost:40123`.
    public let url: String
    /// The TCP port, at the realm's ``TestRealm/address``.
    public let port: Int
    private let records: Records

    init(host: String, port: Int, usesTLS: Bool, records: Records) {
        self.port = port
        self.records = records
        url = "\(usesTLS ? "https" : "http")://\(host):\(port)"
    }

    /// The requests so far, unless ``AcceptorServerOptions/recordsRequests`` is off. One is here before the first byte of its answer
    /// leaves.
    public var requests: [Request] { records.requests.withLock { $0 } }

    /// What the connections note.
    final class Records: Sendable {
        fileprivate let requests = Mutex<[Request]>([])
        private let isKept: Bool

        init(isKept: Bool) { self.isKept = isKept }

        func note(_ request: Request) {
            if isKept { requests.withLock { $0.append(request) } }
        }
    }

    /// A request, and what the acceptor made of it.
    public struct Request: Sendable {
        /// Which connection it came over: from 1, in the order in which they were accepted.
        public let connection: Int
        /// Such as `GET`.
        public let method: String
        /// The path with the query, as it was sent.
        public let path: String
        /// Whether there was a field `Authorization`, of whatever scheme.
        public let hasAuthorization: Bool
        /// How many bytes of a body came.
        public let bodyBytes: Int
        /// The user whose token was accepted, with this request or earlier on a bound connection; nil for nobody.
        public internal(set) var initiator: String?
        /// What the accepted context grants; empty where there is none.
        public internal(set) var flags: ContextFlags = []
        /// Why the token was not accepted.
        public internal(set) var refusal: KerberosError?
        /// The status of the answer; 0 where the connection ended without one.
        public internal(set) var status = 401
    }
}
