/// What has arrived of the next token of a security layer: four bytes of its length, and the token (RFC 4422 section 3.7).
struct ArrivingToken {
    /// The state of a token.
    enum Progress: Equatable {
        case incomplete
        case complete([UInt8])
        /// The announced length is not acceptable. No later token can be read either.
        case tooLong
    }

    /// The longest token that is accepted. A controller sends one for each message, and messages with more than this are not requested.
    static let longest = 1 << 20
    private static let lengthSize = 4

    private var bytes: [UInt8] = []

    /// Whether a part of the token itself has arrived.
    var hasBegun: Bool { bytes.count > Self.lengthSize }

    /// How many bytes of the length, and then of the token, are missing; 0 if it is complete.
    var missing: Int { Self.lengthSize + (announced ?? 0) - bytes.count }

    private var announced: Int? { bytes.count < Self.lengthSize ? nil : bytes.prefix(Self.lengthSize).reduce(0) { $0 << 8 | Int($1) } }

    /// Appends bytes that have arrived, at most as many as are missing.
    mutating func append(_ more: some Collection<UInt8>) { bytes += more }

    /// Removes the token if it is complete.
    mutating func take() -> Progress {
        guard let announced else { return .incomplete }
        guard announced <= Self.longest else { return .tooLong }
        guard missing == 0 else { return .incomplete }
        defer { bytes = [] }
        return .complete(Array(bytes.dropFirst(Self.lengthSize)))
    }
}
