/// How a test web server asks for Kerberos.
public struct ProtectedWebServerOptions: Sendable {
    /// The principal whose key the server holds. It is added to the realm if it is not there yet.
    public var principal: String
    /// Whether one accepted request vouches for the later ones of the same connection (`GssapiConnectionBound`).
    public var connectionBound: Bool
    /// Whether the server remembers authenticators. Turn it off in a benchmark, where the file's fsync would be what is measured.
    public var usesReplayCache: Bool
    /// Whether the server speaks https, with a certificate for localhost that it signs itself: ``ProtectedWebServer/certificatePath``.
    public var usesTLS: Bool

    /// Creates options; each has a default.
    public init(
        principal: String = "HTTP/localhost",
        connectionBound: Bool = false,
        usesReplayCache: Bool = true,
        usesTLS: Bool = false
    ) {
        self.principal = principal
        self.connectionBound = connectionBound
        self.usesReplayCache = usesReplayCache
        self.usesTLS = usesTLS
    }
}
