/// How a test web server asks for Kerberos.
public struct ProtectedWebServerOptions: Sendable {
    /// The name by which clients find the server: a name of the realm's ``TestRealm/address``, in lower case.
    public var host: String
    /// The principal whose key the server holds; `HTTP/` and the host if nil. It is added to the realm if it is not there yet.
    public var principal: String?
    /// Whether one accepted request vouches for the later ones of the same connection (`GssapiConnectionBound`).
    ///
    /// The replies say `Persistent-Auth: true` then. Over HTTP/2 they say so too, but there every request is asked again.
    public var connectionBound: Bool
    /// Whether the server remembers authenticators. Turn it off in a benchmark, where the file's fsync would be what is measured.
    public var usesReplayCache: Bool
    /// Whether the server speaks https, with a certificate for its host that it signs itself: ``ProtectedWebServer/certificatePath``.
    public var usesTLS: Bool
    /// The certificate that the server shows with ``usesTLS``: its key and its signature.
    public var certificate: ServerCertificate
    /// Whether the server offers HTTP/2 beside HTTP/1.1, by ALPN; it needs ``usesTLS``.
    public var usesHTTP2: Bool
    /// Whether the server answers a token that it does not take with 401 and no challenge (`GssapiNegotiateOnce`), so that the client
    /// stops.
    public var negotiatesOnce: Bool
    /// Whether the server keeps the tickets that users forward: ``ProtectedWebServer/delegatedCaches()``.
    public var storesDelegatedTickets: Bool
    /// The longest header field that the server takes, in bytes, the name included; a longer one gets 400, over HTTP/2 431.
    ///
    /// 128 KiB by default: a token of 64 KiB has some 88,000 characters. Apache's own default is 8,190 bytes. Over HTTP/2 a field's value
    /// has at most 65,536 bytes whatever this says, which is a token of 49,143 bytes; a longer one ends the connection.
    public var maximumFieldSize: Int
    /// Pages that send the client elsewhere without asking for Kerberos, by their paths.
    public var redirects: [String: Redirect]
    /// How far the server's clock is from the machine's, in whole seconds, by libfaketime; the machine's clock if nil.
    public var clockOffset: Duration?

    /// Creates options; each has a default.
    public init(
        host: String = "localhost",
        principal: String? = nil,
        connectionBound: Bool = false,
        usesReplayCache: Bool = true,
        usesTLS: Bool = false,
        certificate: ServerCertificate = .ecdsaSHA256,
        usesHTTP2: Bool = false,
        negotiatesOnce: Bool = false,
        storesDelegatedTickets: Bool = false,
        maximumFieldSize: Int = 131_072,
        redirects: [String: Redirect] = [:],
        clockOffset: Duration? = nil
    ) {
        self.host = host
        self.principal = principal
        self.connectionBound = connectionBound
        self.usesReplayCache = usesReplayCache
        self.usesTLS = usesTLS
        self.certificate = certificate
        self.usesHTTP2 = usesHTTP2
        self.negotiatesOnce = negotiatesOnce
        self.storesDelegatedTickets = storesDelegatedTickets
        self.maximumFieldSize = maximumFieldSize
        self.redirects = redirects
        self.clockOffset = clockOffset
    }

    var servicePrincipal: String { principal ?? "HTTP/\(host)" }

    /// Where a page sends the client (RFC 9110 section 15.4).
    public struct Redirect: Sendable, Hashable {
        /// The status, from 300 to 399, such as 307.
        public var status: Int
        /// The absolute URL, or a path of the same server.
        public var target: String

        /// Creates a redirect.
        public init(status: Int, target: String) {
            self.status = status
            self.target = target
        }
    }
}
