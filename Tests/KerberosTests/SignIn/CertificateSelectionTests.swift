import SystemSupport
import Testing

@testable import Kerberos

@Suite struct CertificateSelectionTests {
    @Test(arguments: [
        ("*My CA2*", "<ISSUER>^.*My CA2.*$"), ("CN=A.B,O=C?", "<ISSUER>^CN=A[.]B,O=C.$"),
        ("a+b(c)|[d]", "<ISSUER>^a[+]b[(]c[)][|][[]d[]]$"),
        ("^x\\", "<ISSUER>^\\^x\\\\$"), ("<SUBJECT>x", "<ISSUER>^[<]SUBJECT[>]x$"), ("", "<ISSUER>^$"),
        ("\u{D4E}|^\u{302}a\u{301}(–", "<ISSUER>^\u{D4E}[|]\\^\u{302}a\u{301}[(]–$"),
    ])
    func `an issuer filter matches the whole name, only its wildcards are special, and it is part of every rule`(
        _ wildcard: String,
        _ rule: String
    ) throws {
        let selection = CertificateSelection(owner: try Principal("alice@EXAMPLE.TEST"), issuer: wildcard)
        #expect(selection.rules.allSatisfy { $0.hasPrefix("&&\(rule)<") }, "\(selection.rules)")
    }

    @Test(arguments: [
        (#"al1@X.Y"#, "<SAN>^[aA][lL]1[@][xX][.][yY]$"), (#"host/a\/b@X"#, #"<SAN>^[hH][oO][sS][tT][/][aA]\\[/][bB][@][xX]$"#),
        (#"a\@corp.example@X"#, "<SAN>^[aA][@][cC][oO][rR][pP][.][eE][xX][aA][mM][pP][lL][eE]$"),
    ])
    func `the owner's name is matched in any case, and an enterprise name as a user principal name`(
        name: String,
        component: String
    ) throws {
        #expect(CertificateSelection(owner: try Principal(name)).rules[3] == "&&\(component)")
    }

    @Test func `the owner's name decides before the purpose, and a single certificate is taken whatever it says`() throws {
        let owner = "<SAN>^[aA][@][xX]$"
        #expect(
            CertificateSelection(owner: try Principal("a@X")).rules == [
                "&&\(owner)<EKU>msScLogin", "&&\(owner)<EKU>pkinit", "&&\(owner)<EKU>clientAuth", "&&\(owner)",
                "&&<EKU>msScLogin", "&&<EKU>pkinit", "&&<EKU>clientAuth", "&&<SUBJECT>.*",
            ]
        )
    }

    @Test(
        arguments: [
            ("PKINIT PKCS#11 module open failed: /x.so: cannot open", .unloadable("/x.so: cannot open")),
            ("PKINIT unable to find PKCS11 plugin symbol C_GetFunctionList: undefined symbol", .noModule),
            ("PKINIT PKCS#11 module shows no slots with tokens", .noCard),
            ("PKINIT PKCS#11 module has no matching tokens", .noneOnCards([])),
            ("PKINIT PKCS11 C_Login failed: PIN locked", .locked("PIN locked")),
            ("PKINIT no matching certificate found", .undecided([])),
            ("PKINIT PKCS11 C_GetFunctionList failed: function failed", .unloadable("function failed")),
            ("PKINIT loading identity PKINIT PKCS#11 module shows no slots with tokens", nil),
            ("Getting initial credentials for a: PKINIT PKCS#11 module shows no slots with tokens", nil),
            ("PKINIT client checked 2 certs, found 0 matches", nil), ("Sending request", nil),
        ] as [(String, CertificateSearch.Fault?)]
    )
    func `a line of libkrb5's trace says why no certificate was found`(line: String, fault: CertificateSearch.Fault?) {
        var search = CertificateSearch()
        search.receive("[1] 2.3: \(line)\n")
        #expect(search.fault == fault)
    }

    @Test func `the certificates among which none was selected are listed once, in order, and escaped`() {
        var search = CertificateSearch()
        for (number, name) in [(1, "O=B"), (2, "O=A'\u{1b}"), (1, "O=B"), (3, "O=B")] {
            search.receive("[1] 2.3: PKINIT matched SAN rule '^x$' with value 'x' in cert #\(number)")
            search.receive("[1] 2.3: PKINIT matched SUBJECT rule '.*' with value '\(name)' in cert #\(number)")
        }
        search.receive("[1] 2.3: PKINIT no matching certificate found")
        search.receive("[1] 2.3: PKINIT PKCS#11 module shows no slots with tokens")
        #expect(search.fault == .undecided(["O=A'\u{1b}".escapedForDisplay(limit: 100), "O=B", "O=B"]))
    }

    @Test func `a fault before the question for the PIN does not remain, and a name that libkrb5 cannot read is one`() {
        var search = CertificateSearch()
        func receive(_ messages: String...) { for message in messages { search.receive("[1] 2.3: PKINIT \(message)") } }
        receive("opening PKCS#11 module \"a.so\"", "client has no configured identity; giving up")
        #expect(search.fault == .noCard)
        receive("opening PKCS#11 module \"a.so\"", "PKCS#11 slotid 1 token A", "client matching rule 'x' against certificates")
        #expect(search.fault == nil)
        receive("client has no configured identity; giving up")
        #expect(search.fault == .unreadable)
    }

    @Test(
        arguments: [([], .noCard), ([(2, "B"), (1, "A\u{1b}"), (2, "B")], .noneOnCards([#"A\u{1b}"#, "B"]))]
            as [([(Int, String)], CertificateSearch.Fault)]
    )
    func `the cards that were found are listed if none is the right one`(cards: [(Int, String)], fault: CertificateSearch.Fault) {
        var search = CertificateSearch()
        search.receive("[1] 2.3: PKINIT client has no configured identity; giving up")
        #expect(search.fault == nil, "the certificate is in a file")
        search.receive("[1] 2.3: PKINIT opening PKCS#11 module \"card.so\"")
        for (slot, label) in cards { search.receive("[1] 2.3: PKINIT PKCS#11 slotid \(slot) token \(label)") }
        search.receive("[1] 2.3: PKINIT client has no configured identity; giving up")
        #expect(search.fault == fault)
    }
}
