internal import HTTPNegotiate
internal import Logging
internal import NIOCore

/// What all connections of a running proxy share.
struct ProxyContext: Sendable {
    let configuration: ProxyConfiguration
    let credentials: any CredentialExtension
    let routes: any RouteSource
    let activity: ProxyActivity
    let logger: Logger
    /// What earlier requests have learned about origins.
    let memory = OriginMemory()
    /// The name of this proxy in `Via`, which is different for each run so that a loop is detected.
    let name = "ksso-" + String(UInt32.random(in: .min ... .max), radix: 16)

    var limits: ProxyConfiguration.Limits { configuration.limits }
    var idleTime: TimeAmount { TimeAmount(limits.idleTime) }

    /// Records a failure and logs it.
    func note(_ failure: ProxyFailure, host: String?) {
        activity.note(failure, host: host)
        logger.info("\(host.map { "\($0): " } ?? "")\(failure.message)")
    }
}
