import HTTPNegotiate
import Synchronization

/// What a client's connections must be for a request to go out over them.
final class ConnectionPin: Sendable {
    private let identity: ConnectionIdentity
    private let connection = Mutex<Int?>(nil)

    init(_ identity: ConnectionIdentity) { self.identity = identity }

    /// From now on only this connection will do; nil for any that shows the right certificate.
    func hold(_ number: Int?) { connection.withLock { $0 = number } }

    /// Why a request may not go out over a connection; nil when it may.
    func objection(to stamp: ConnectionStamp) -> ConnectionChange? {
        if identity.bindsChannel, stamp.channelBindings != identity.channelBindings { return .certificate(stamp.channelBindings) }
        if let held = connection.withLock({ $0 }), held != stamp.connection { return .connection }
        return nil
    }
}
