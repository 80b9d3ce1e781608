import Kerberos
import Testing

@Suite struct SecretTests {
    private struct Account {
        let name = "alice"
        let password = Secret("hunter2")
    }

    private static var texts: [String] {
        let secret = Secret("hunter2")
        var dumped = ""
        dump(secret, to: &dumped)
        dump(["key": [secret]], to: &dumped)
        return [
            "\(secret)", String(describing: secret), String(reflecting: secret), String(reflecting: [secret]), "\(["key": secret])",
            String(describing: Optional(secret)), String(describing: Account()), dumped,
            String(describing: InitialCredentialSource.password(secret)), String(reflecting: InitialCredentialSource.password(secret)),
        ]
    }

    @Test(arguments: texts)
    func `no description of a secret shows its content`(text: String) {
        #expect(!text.contains("hunter2"))
        #expect(!text.contains("104"), "the first byte of the content, as a number")
        #expect(text.contains("<secret>"))
    }

    @Test func `the mirror of a secret has no children`() {
        #expect(Mirror(reflecting: Secret("hunter2")).children.isEmpty)
    }

    @Test(arguments: [
        ("secret", "secret", true), ("", "", true), ("secret", "secreT", false), ("Secret", "secret", false), ("secret", "secret1", false),
        ("secret", "", false), ("a\0b", "a\0c", false), ("héllo", "héllo", true),
    ])
    func `secrets are equal if their bytes are`(left: String, right: String, areEqual: Bool) {
        #expect((Secret(left) == Secret(right)) == areEqual)
    }

    @Test(arguments: [[], [0], [0, 255, 0], Array(0...255)] as [[UInt8]])
    func `a secret has the bytes it was created with`(bytes: [UInt8]) {
        let secret = Secret(bytes: bytes)
        #expect(secret.count == bytes.count)
        #expect(secret.isEmpty == bytes.isEmpty)
        #expect(secret.withUnsafeBytes { Array($0) } == bytes)
    }

    @Test func `a copy of a secret outlives the original`() {
        var original: Secret? = Secret("hunter2")
        let copy = original
        original = nil
        #expect(copy == Secret("hunter2"))
    }
}
