import KerberosTesting
import SignOnDiagnosis
import TestSupport
import Testing

/// Sign-ins with a PIV card in a card reader, through OpenSC's module and the PC/SC service, at MIT's KDC.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(if: LoadableLibrary.pkinit != nil, "krb5-pkinit is missing: Scripts/install-packages unpacks it"),
    .enabled(if: CardSoftware.found != nil, "opensc-pkcs11, pcscd or vsmartcard-vpcd is missing: Scripts/install-packages unpacks it"),
    .enabled(if: CardReader.isPossible, Comment(rawValue: CardReader.reason))
)
struct VirtualCardTests {
    /// Runs a closure with alice's card and a reader in which it is not inserted.
    private func withCard(_ body: (Workstation, CardReader, VirtualCard) async throws -> Void) async throws {
        let plugin = try #require(LoadableLibrary.pkinit)
        let options = TestRealmOptions(
            users: ["alice": "secret"],
            acceptsCertificates: true,
            pluginDirectory: "\(plugin.folder)/krb5/plugins"
        )
        try await withTestRealm(options) { realm in
            let card = try await VirtualCard(try await realm.certificate(for: "alice"), realm: realm)
            let station = try Workstation(realm: realm)
            try station.install(profile())
            try await withCardReader { reader in try await body(station, reader, card) }
        }
    }

    private func login(_ station: Workstation, _ reader: CardReader, pin: String = VirtualCard.pin) async throws -> CommandResult {
        let words = ["login", "alice", "--force", "--certificate", reader.identity, "--password-stdin"]
        return try await station.run(["ksso"] + words, input: "\(pin)\n", environment: reader.environment)
    }

    @Test func `a card in a reader signs in with its PIN until it is removed`() async throws {
        try await withCard { station, reader, card in
            for _ in 1...2 {
                let away = try await login(station, reader)
                #expect(away.exitStatus != 0 && away.errors.contains("no smart card was found"), "\(away)")
                try await reader.insert(card)
                let result = try await login(station, reader)
                #expect(result.exitStatus == 0 && result.output.hasPrefix("alice@EXAMPLE.TEST is signed in until "), "\(result)")
                try await reader.remove()
            }
            #expect(await card.enteredPINs == 2, "a PIN is not entered without a card")
        }
    }

    @Test func `the doctor says whether a card is in the reader`() async throws {
        try await withCard { station, reader, card in
            try station.install("CertificateIdentity: '\(reader.identity)'\n" + profile(data: ["startInSmartCardMode: true"]))
            func check(_ environment: [String: String]) async throws -> DiagnosticCheck {
                let checks = try await station.doctor(environment: environment).checks
                return try #require(checks.first { $0.name == "certificate" })
            }
            let empty = try await check(reader.environment)
            let sentence = "There is no card in the readers Virtual PCD 00 00, Virtual PCD 00 01."
            #expect(empty.detail == "no smart card was found for \(reader.identity). \(sentence)", "\(empty)")
            #expect(empty.verdict == .failed && empty.remedy == "Insert the card.", "\(empty)")
            let silent = try await check(reader.environment.merging(["PCSCLITE_CSOCK_NAME": "/nonexistent"]) { $1 })
            #expect(silent.detail.hasSuffix("unknown: the smart card service (pcscd) does not answer."), "\(silent)")
            try await reader.insert(card)
            let found = try await check(reader.environment)
            #expect(found.verdict == .ok && found.detail.contains(": the smart card alice was found"), "\(found)")
            #expect(await card.enteredPINs == 0)
        }
    }

    @Test func `a card counts wrong PINs until the right one`() async throws {
        try await withCard { station, reader, card in
            try await reader.insert(card)
            for left in [2, 1] {
                let result = try await login(station, reader, pin: "111111")
                #expect(result.exitStatus != 0 && result.errors.contains("the card refused the PIN (pin incorrect)"), "\(result)")
                #expect(await card.triesLeft == left, "the PIN was entered once")
            }
            #expect(try await login(station, reader).exitStatus == 0)
            #expect(await card.triesLeft == VirtualCard.allowedTries)
        }
    }

    @Test func `a card is locked after three wrong PINs`() async throws {
        try await withCard { station, reader, card in
            try await reader.insert(card)
            for _ in 1...VirtualCard.allowedTries { _ = try await login(station, reader, pin: "111111") }
            #expect(await card.triesLeft == 0)
            let locked = try await login(station, reader)
            #expect(locked.exitStatus != 0 && locked.errors.contains("the card has locked its PIN"), "\(locked)")
            #expect(await card.enteredPINs == VirtualCard.allowedTries, "no PIN is entered into a locked card")
        }
    }
}
