import Foundation
import KerberosTesting
import SignOnDiagnosis
import TestSupport
import Testing

/// Sign-ins with a smart card: SoftHSM's, at MIT's KDC.
@Suite(
    .enabled(if: LoadableLibrary.pkinit != nil, "krb5-pkinit is missing: Scripts/install-packages unpacks it"),
    .enabled(if: LoadableLibrary.card != nil, "softhsm2 is missing: Scripts/install-packages unpacks it")
)
struct SmartCardTests {
    /// Runs a closure with a card that has the certificates of these users, and others.
    private func withCard(
        _ users: [String] = ["alice"],
        _ others: [String: ClientCertificate] = [:],
        _ body: (Workstation, SmartCard) async throws -> Void
    ) async throws {
        let plugin = try #require(LoadableLibrary.pkinit)
        let library = try #require(LoadableLibrary.card)
        let options = TestRealmOptions(
            users: ["alice": "secret", "bob": "secret"],
            acceptsCertificates: true,
            pluginDirectory: "\(plugin.folder)/krb5/plugins"
        )
        try await withTestRealm(options) { realm in
            var certificates = others
            for user in users { certificates[user] = try await realm.certificate(for: user) }
            let card = try await SmartCard("Staff card", certificates: certificates, library: library, realm: realm)
            let station = try Workstation(realm: realm)
            try station.install(profile())
            try await body(station, card)
        }
    }

    private func login(
        _ station: Workstation,
        _ identity: String,
        pin: String = SmartCard.pin,
        environment: [String: String]
    ) async throws -> CommandResult {
        let words = ["login", "alice", "--force", "--certificate", identity, "--password-stdin"]
        return try await station.run(["ksso"] + words, input: "\(pin)\n", environment: environment)
    }

    @Test func `a card signs in with its PIN, and its ticket is renewed without it`() async throws {
        try await withCard { station, card in
            let result = try await login(station, card.identity(), environment: card.environment)
            #expect(result.exitStatus == 0 && result.output.hasPrefix("alice@EXAMPLE.TEST is signed in until "), "\(result)")
            let page = try await station.ksso("refresh")
            #expect(page.exitStatus == 0, "the card is not needed to renew: \(page)")
        }
    }

    @Test func `the PIN is asked for at the terminal with the label of the card`() async throws {
        try await withCard { station, card in
            let command = "exec ksso login alice --certificate '\(card.identity())'"
            let (status, _) = try await Conversation.atTerminal(command, on: station, environment: card.environment) { terminal in
                try await terminal.wait(for: "Staff card PIN: ")
                try await terminal.type("\(SmartCard.pin)\n")
                try await terminal.wait(for: "alice@EXAMPLE.TEST is signed in until ")
            }
            #expect(status == 0)
        }
    }

    @Test func `a wrong PIN is sent once and reported`() async throws {
        try await withCard { station, card in
            let result = try await login(station, card.identity(), pin: "9999", environment: card.environment)
            #expect(result.exitStatus != 0 && result.errors.contains("alice@EXAMPLE.TEST: the card refused the PIN, or "), "\(result)")
            #expect(result.errors.contains("Check the PIN, which was sent once, "), "\(result)")
        }
    }

    /// SoftHSM says after a wrong PIN that one was entered, until the next right one.
    @Test func `the doctor finds a card without its PIN, and warns after a wrong PIN`() async throws {
        try await withCard { station, card in
            try station.install("CertificateIdentity: '\(card.identity())'\n" + profile(data: ["startInSmartCardMode: true"]))
            func check() async throws -> DiagnosticCheck {
                let checks = try await station.doctor(environment: card.environment).checks
                return try #require(checks.first { $0.name == "certificate" })
            }
            let found = try await check()
            let words = ": the smart card Staff card was found; its certificate is not examined, because that requires its PIN."
            #expect(found.verdict == .ok && found.detail.hasSuffix(words), "\(found)")
            #expect(try await login(station, card.identity(), pin: "9999", environment: card.environment).exitStatus != 0)
            let doubtful = try await check()
            #expect(doubtful.verdict == .warning && doubtful.detail.contains("a wrong PIN was entered"), "\(doubtful)")
            #expect(try await login(station, card.identity(), environment: card.environment).exitStatus == 0)
            // If the first check entered a wrong PIN, the second one would report it.
            for _ in 1...2 { #expect(try await check() == found, "the doctor's check counts as no attempt") }
            let away = try #require(try await station.doctor().checks.first { $0.name == "certificate" })
            #expect(away.verdict == .warning && away.detail.hasPrefix("no smart card was found for "), "the user is signed in: \(away)")
        }
    }

    @Test func `a card that is not inserted is reported, without a question`() async throws {
        try await withCard { station, card in
            let identities = [(card.identity(), [:]), (card.identity().replacing("Staff", with: "Other"), card.environment)]
            for (identity, environment) in identities {
                let command = ["ksso", "login", "alice", "--certificate", identity]
                let result = try await station.run(command, environment: environment)
                let sentence = "no smart card was found, the PIN that was entered at its reader"
                #expect(result.exitStatus != 0 && result.errors.contains(sentence), "\(result)")
            }
        }
    }

    @Test func `reacquiring a session fails if its card was removed`() async throws {
        try await withCard { station, card in
            // Only a module that the profile or krb5.conf names is loaded again.
            try station.install("CertificateIdentity: '\(card.identity())'\n" + profile())
            let words = ["login", "alice", "--lifetime", "10m", "--certificate", "default", "--password-stdin"]
            let login = try await station.run(["ksso"] + words, input: "\(SmartCard.pin)\n", environment: card.environment)
            #expect(login.exitStatus == 0, "\(login)")
            let refresh = try await station.ksso("refresh", "--password-stdin", input: "\(SmartCard.pin)\n")
            #expect(refresh.exitStatus != 0 && refresh.errors.contains("no smart card was found"), "\(refresh)")
            #expect(try await station.run(["klist", "-s"]).exitStatus == 0, "the ticket stays")
            let inserted = ["ksso", "refresh", "--password-stdin"]
            let again = try await station.run(inserted, input: "\(SmartCard.pin)\n", environment: card.environment)
            #expect(again.exitStatus == 0, "\(again)")
        }
    }

    @Test func `one of several certificates is selected by its label`() async throws {
        try await withCard(["alice", "bob"]) { station, card in
            let labelled = try await login(station, card.identity(certificate: "alice"), environment: card.environment)
            #expect(labelled.exitStatus == 0, "\(labelled)")
        }
    }

    @Test(arguments: [("*O=EXAMPLE.TEST*", true), ("*O=OTHER.TEST*", false)])
    func `identityIssuerAutoSelectFilter selects one of several certificates`(filter: String, isAccepted: Bool) async throws {
        let plugins = "\(try #require(LoadableLibrary.pkinit).folder)/krb5/plugins"
        let other = TestRealmOptions(
            name: "OTHER.TEST",
            users: ["alice": "secret"],
            acceptsCertificates: true,
            pluginDirectory: plugins
        )
        try await withTestRealm(other) { other in
            let foreign = try await other.certificate(for: "alice")
            try await withCard(["alice"], ["foreign": foreign]) { station, card in
                let both = try await login(station, card.identity(), environment: card.environment)
                #expect(both.exitStatus != 0 && both.errors.contains("select a certificate with certlabel=LABEL"), "\(both)")
                try station.install(profile(data: ["identityIssuerAutoSelectFilter: '\(filter)'"]))
                let result = try await login(station, card.identity(), environment: card.environment)
                #expect((result.exitStatus == 0) == isAccepted, "\(result)")
            }
        }
    }
}
