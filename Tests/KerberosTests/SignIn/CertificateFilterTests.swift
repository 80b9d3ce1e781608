import Kerberos
import Testing

@Suite struct CertificateFilterTests {
    @Test(arguments: [
        ("*My CA2*", "<ISSUER>^.*My CA2.*$"), ("CN=A.B,O=C?", "<ISSUER>^CN=A[.]B,O=C.$"),
        ("a+b(c)|[d]", "<ISSUER>^a[+]b[(]c[)][|][[]d[]]$"),
        ("^x\\", "<ISSUER>^\\^x\\\\$"), ("<SUBJECT>x", "<ISSUER>^[<]SUBJECT[>]x$"), ("", "<ISSUER>^$"),
    ])
    func `an issuer filter matches the whole name, and only its wildcards are special`(_ wildcard: String, _ rule: String) {
        #expect(CertificateFilter.rule(issuer: wildcard) == rule)
    }
}
