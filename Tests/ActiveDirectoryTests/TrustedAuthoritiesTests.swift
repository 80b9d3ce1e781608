import Testing

@testable import ActiveDirectory

@Suite struct TrustedAuthoritiesTests {
    @Test(arguments: [
        ("TLS_CACERT /etc/ssl/a.pem\n", "/etc/ssl/a.pem"), ("# TLS_CACERT /no\ntls_cacert\t/b b.pem \nURI ldap://x", "/b b.pem"),
        ("TLS_CACERT /a\nTLS_CACERT /b", "/b"), ("TLS_CACERTDIR /a", nil), ("TLS_CACERT", nil), ("", nil),
    ])
    func `the file is read from an ldap.conf`(text: String, path: String?) {
        #expect(TrustedAuthorities.named(in: text) == path)
    }

    @Test func `a given file precedes that of the environment`() {
        let environment = ["LDAPTLS_CACERT": "/environment.pem"]
        #expect(TrustedAuthorities.path("/given.pem", environment: environment) == "/given.pem")
        #expect(TrustedAuthorities.path(nil, environment: environment) == "/environment.pem")
        #expect(TrustedAuthorities.path(nil, environment: [:]).hasPrefix("/"))
    }
}
