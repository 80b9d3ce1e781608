import Testing

@testable import Kerberos

/// The lines of libkrb5's trace about the certificate of a KDC proxy.
struct ProxyRefusalTests {
    @Test func `a certificate that is refused is recognized`() {
        let line = "[7] 1800000000.1: TLS certificate error at 0 (CN=a (b)): 10 (certificate has expired)\n"
        #expect(ProxyRefusal(trace: line) == .untrusted("certificate has expired"))
        let other = #"[7] 1800000000.1: TLS certificate name mismatch: server certificate is not for "proxy.test""#
        #expect(ProxyRefusal(trace: other) == .otherHost("proxy.test"))
    }

    @Test(arguments: ["", "TLS certificate name matched \"proxy.test\"", "TLS error: eof"]) func `other lines are not`(line: String) {
        #expect(ProxyRefusal(trace: line) == nil)
    }
}
