import Testing

@testable import Kerberos

/// Texts of libraries and servers in the descriptions of errors and names.
@Suite struct ErrorTextTests {
    /// Heimdal's servers and some GSSAPI messages count the NUL that ends a C string.
    @Test(arguments: [("text\0", "text"), ("te\0xt\0\0", "te\0xt"), ("", ""), ("\0", ""), ("text", "text")])
    func `trailing NULs are not part of a text`(bytes: String, text: String) {
        #expect(Array(bytes.utf8).withUnsafeBytes { String(text: $0) } == text)
    }

    @Test func `the subject of an error is escaped to one line`() {
        let error = KerberosError(.noCredentials, subject: "FILE:/tmp/a\nb\u{1B}", message: "there is no ticket.")
        #expect(error.description == #"FILE:/tmp/a\u{a}b\u{1b}: there is no ticket."#)
        #expect(CredentialCacheName(rawValue: "FILE:/tmp/a\nb").description == #"FILE:/tmp/a\u{a}b"#)
    }
}
