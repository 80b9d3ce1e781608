import KerberosTesting

extension Collection<KDCExchange> {
    /// The KDC's replies to each request of one sign-in, however often the request was sent.
    ///
    /// libkrb5 repeats an identical request, also over another transport, if no reply arrives within a second. On a busy machine this
    /// can happen to any request. The next request of the sign-in is longer.
    var steps: [Set<KDCExchange.Message>] {
        var sizes: [Int] = []
        for exchange in self where !sizes.contains(exchange.requestSize) { sizes.append(exchange.requestSize) }
        return sizes.map { size in Set(filter { $0.requestSize == size }.compactMap(\.reply)) }
    }
}

extension [Set<KDCExchange.Message>] {
    /// The KDC first replies that it requires pre-authentication.
    static let signIn: Self = [[.error], [.initialReply]]
}
