internal import NIOCore
internal import NIOPosix

/// What answers at the address of a local proxy.
package enum ProxyProbe: Sendable, Hashable {
    /// A local proxy that serves this user.
    case serving
    /// A local proxy that serves other users only.
    case refusing
    /// A local proxy of another user, or another user's program that answers like one: it serves this user, and reads the requests. The
    /// user is nil if the program stopped listening before it was looked for.
    case foreign(userID: UInt32?)
    /// Another program.
    case otherProgram
    /// No program listens there.
    case absent

    /// Connects to an address, and sends a request that a local proxy answers with a page of its own.
    package static func answer(at server: ProxyServer, within limit: Duration) async -> ProxyProbe {
        let time = TimeAmount(limit)
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(time)
            .channelOption(.autoRead, value: false)
            .channelOption(.allowRemoteHalfClosure, value: true)
        let connection = try? await bootstrap.connect(host: server.host, port: server.port) { channel in
            channel.eventLoop.makeCompletedFuture { try MessageStream(channel, idleTime: time) }
        }
        guard let stream = connection else { return .absent }
        defer { stream.close() }
        // Before the program can answer and end. Only the owner of a listener on this machine is known.
        guard let address = stream.channel.remoteAddress.flatMap({ TCPSocketName($0) }) else { return .otherProgram }
        let user = address.isLoopback ? TCPSocketTable.listenerUserID(at: address) : PeerUser.own
        do {
            try await stream.write(Array("GET / HTTP/1.1\r\nHost: \(server)\r\nConnection: close\r\n\r\n".utf8))
            guard let bytes = try await stream.head(maximumSize: 16_384, within: time) else { return .otherProgram }
            let head = try HeadParser.response(bytes)
            guard head.fields.contains(ProxyFailure.fieldName) else { return .otherProgram }
            if head.status == 403 { return .refusing }
            return user == PeerUser.own || user == 0 ? .serving : .foreign(userID: user)
        } catch {
            return .otherProgram
        }
    }
}
