internal import struct Foundation.Date

extension KDCProbe {
    /// The same request as a KDC proxy takes it: the body of a POST of `application/kerberos`.
    package var proxyRequest: [UInt8] { KDCProxyMessage.encoded(message, realm: principal.realm) }

    /// Whether libkrb5 can speak to a KDC proxy: Debian packages its plugin for that by itself.
    package static var libraryReachesProxies: Bool { LibraryPlugin.tls.isInstalled }

    /// What a KDC proxy's answer to it says.
    package func outcome(ofProxyAnswer answer: [UInt8], latency: Duration) async -> Outcome {
        await BlockingCall.run {
            guard let reply = KDCProxyMessage.message(in: answer) else { return .notKerberos }
            return outcome(of: reply, latency: latency, at: Date())
        }
    }
}
