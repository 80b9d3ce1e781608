import KerberosTesting

extension Collection<KDCExchange> {
    /// What the KDC answered to each request of one sign-in, however often it came.
    ///
    /// libkrb5 sends a request again, byte by byte the same and by another transport too, when no reply has come for a second; on a busy
    /// machine that is any of them. The next request of the sign-in is longer.
    var steps: [Set<KDCExchange.Message>] {
        var sizes: [Int] = []
        for exchange in self where !sizes.contains(exchange.requestSize) { sizes.append(exchange.requestSize) }
        return sizes.map { size in Set(filter { $0.requestSize == size }.compactMap(\.reply)) }
    }
}

extension [Set<KDCExchange.Message>] {
    /// The KDC wants pre-authentication first, as always.
    static let signIn: Self = [[.error], [.initialReply]]
}
