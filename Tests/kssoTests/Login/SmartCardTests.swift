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
            #expect(result.exitStatus != 0 && result.errors.contains("alice@EXAMPLE.TEST: the card refused the PIN ("), "\(result)")
            #expect(result.errors.contains("Check the PIN, which was sent once."), "\(result)")
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

    @Test func `libkrb5's trace is written to the user's file, and the error has its reason`() async throws {
        try await withCard { station, card in
            let trace = "\(station.directory)/trace"
            let environment = card.environment.merging(["KRB5_TRACE": trace]) { $1 }
            let result = try await login(station, card.identity(), pin: "9999", environment: environment)
            #expect(result.exitStatus != 0 && result.errors.contains("the card refused the PIN (pin incorrect)"), "\(result)")
            let lines = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
            #expect(lines.contains { $0.hasSuffix(": PKINIT PKCS11 C_Login failed: pin incorrect") }, "\(lines)")
        }
    }

    @Test func `a card that is not inserted is reported, without a question`() async throws {
        try await withCard { station, card in
            let program = try station.write("no module\n", to: "card.so")
            let refusals: [(String, [String: String], String)] = [
                (card.identity(), [:], "no smart card was found. Insert the card"),
                (
                    card.identity().replacing("Staff", with: "Other"), card.environment,
                    "no certificate was found on the smart card (Staff card)"
                ),
                ("PKCS11:module_name=\(program)", [:], "the module of the smart card cannot be loaded (unable to load plugin [\(program)]"),
                ("PKCS11:module_name=libc.so.6", [:], "the file that module_name names is no module of a smart card"),
            ]
            for (identity, environment, sentence) in refusals {
                let command = ["ksso", "login", "alice", "--certificate", identity]
                let result = try await station.run(command, environment: environment)
                #expect(result.exitStatus != 0 && result.errors.contains(sentence), "\(identity): \(result)")
            }
        }
    }

    @Test(arguments: [nil, "alice"] as [String?])
    func `reacquiring a session fails if its card was removed`(label: String?) async throws {
        try await withCard { station, card in
            // Only a module that the profile or krb5.conf names is loaded again.
            try station.install("CertificateIdentity: '\(card.identity())'\n" + profile())
            let identity = label.map { card.identity(certificate: $0) } ?? "default"
            let words = ["login", "alice", "--lifetime", "10m", "--certificate", identity, "--password-stdin"]
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
            let labelled = try await login(station, card.identity(certificate: "bob"), environment: card.environment)
            #expect(labelled.exitStatus != 0 && labelled.errors.contains("the certificate belongs to another principal"), "\(labelled)")
        }
    }

    @Test func `of several certificates, the one that names the user is selected`() async throws {
        try await withCard(["alice", "bob"]) { station, card in
            for user in ["bob", "alice"] {
                let words = ["ksso", "login", user, "--certificate", card.identity(), "--password-stdin"]
                let result = try await station.run(words, input: "\(SmartCard.pin)\n", environment: card.environment)
                #expect(result.exitStatus == 0 && result.output.hasPrefix("\(user)@EXAMPLE.TEST is signed in until "), "\(result)")
            }
            // The administrator's rules replace ours.
            let rule = "[libdefaults]\n    pkinit_cert_match = <SUBJECT>.*CN=bob.*\n"
            let configuration = "\(try station.write(rule, to: "krb5.conf")):\(station.realm.configurationPath)"
            let environment = card.environment.merging(["KRB5_CONFIG": configuration]) { $1 }
            let other = try await login(station, card.identity(), environment: environment)
            #expect(other.exitStatus != 0 && other.errors.contains("the certificate belongs to another principal"), "\(other)")
            _ = try station.write(rule.replacing("bob", with: "carol"), to: "krb5.conf")
            let none = try await login(station, card.identity(), environment: environment)
            #expect(none.exitStatus != 0 && none.errors.contains("matches pkinit_cert_match in krb5.conf"), "\(none)")
        }
    }

    @Test func `of several certificates that name the user, none is selected, and all are listed`() async throws {
        try await withCard(["alice", "bob"]) { station, card in
            let second = try await station.realm.certificate(for: "alice")
            try await card.add(second, name: "alice at home", identifier: "07")
            let result = try await login(station, card.identity(), environment: card.environment)
            let names = ["alice", "alice", "bob"].map { "O=EXAMPLE.TEST,CN=\($0)" }.joined(separator: "; ")
            #expect(result.exitStatus != 0 && result.errors.contains("several certificates match: \(names). Sign in"), "\(result)")
            for choice in ["certlabel=alice at home", "certid=07"] {
                let chosen = try await login(station, "\(card.identity()):\(choice)", environment: card.environment)
                #expect(chosen.exitStatus == 0, "\(choice): \(chosen)")
            }
            let unknown = try await login(station, card.identity(certificate: "carol"), environment: card.environment)
            #expect(unknown.exitStatus != 0 && unknown.errors.contains("no certificate was found on the smart card"), "\(unknown)")
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
                try station.install(profile(data: ["identityIssuerAutoSelectFilter: '\(filter)'"]))
                for rules in ["", "[libdefaults]\nRULE", "[libdefaults]\nEXAMPLE.TEST = {\nRULE}", "[realms]\nEXAMPLE.TEST = {\nRULE}"] {
                    let other = rules.replacing(
                        "RULE",
                        with: "pkinit_cert_match = <ISSUER>.*\(isAccepted ? "OTHER" : "EXAMPLE")[.]TEST.*\n"
                    )
                    let configuration = "\(try station.write(other, to: "rules.conf")):\(station.realm.configurationPath)"
                    let environment = card.environment.merging(["KRB5_CONFIG": configuration]) { $1 }
                    let result = try await login(station, card.identity(), environment: environment)
                    #expect((result.exitStatus == 0) == isAccepted, "\(rules): \(result)")
                }
                try station.install(profile(data: ["identityIssuerAutoSelectFilter: 'O=THIRD.TEST'"]))
                let neither = try await login(station, card.identity(), environment: card.environment)
                let sentence = "no certificate has an issuer that matches identityIssuerAutoSelectFilter"
                #expect(neither.exitStatus != 0 && neither.errors.contains(sentence), "\(neither)")
            }
        }
    }
}
