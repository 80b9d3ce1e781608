import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import SSOAgentClient
import SignOnPolicy
import TestSupport
import Testing

/// Sign-ins with a certificate, and the profile's rules on certificates and passwords, at a KDC that accepts both.
@Suite(.enabled(if: LoadableLibrary.pkinit != nil, "krb5-pkinit is missing: Scripts/install-packages unpacks it"))
struct CertificateLoginTests {
    /// Runs a closure with the identity of alice's certificate.
    private func withKDC(
        _ keys: String = "",
        data: [String] = [],
        _ body: (Workstation, String) async throws -> Void
    ) async throws {
        let plugin = try #require(LoadableLibrary.pkinit)
        let options = TestRealmOptions(
            users: ["alice": "secret"],
            acceptsPasswordChanges: true,
            acceptsCertificates: true,
            pluginDirectory: "\(plugin.folder)/krb5/plugins"
        )
        try await withTestRealm(options) { realm in
            let identity = try await realm.certificate(for: "alice").identity
            let station = try Workstation(realm: realm)
            try station.install(keys.replacing("IDENTITY", with: identity) + profile(data: data))
            try await body(station, identity)
        }
    }

    @Test func `ksso login signs in with a certificate, with or without a PIN`() async throws {
        try await withKDC { station, identity in
            let login = try await station.ksso("login", "alice", "--certificate", identity)
            #expect(login.exitStatus == 0 && login.output.hasPrefix("alice@EXAMPLE.TEST is signed in until "), "\(login)")
            #expect(try await station.run(["klist", "-s"]).exitStatus == 0)
            let protected = try await station.realm.certificate(for: "alice", pin: "1234").identity
            let withPIN = try await station.ksso(
                "login",
                "alice",
                "--force",
                "--certificate",
                protected,
                "--password-stdin",
                input: "1234\n"
            )
            #expect(withPIN.exitStatus == 0, "\(withPIN)")
        }
    }

    /// The tickets are valid for minutes, so that the second one differs from the first; neither is renewable.
    @Test func `ksso refresh signs in again with the certificate`() async throws {
        try await withKDC { station, identity in
            // The path is relative to the current folder.
            let relative = identity.replacing("\(station.realm.directory)/", with: "")
            let command = "cd \(station.realm.directory) && exec ksso login alice --lifetime 10m --certificate \(relative)"
            try #require(relative != identity)
            #expect(try await station.run(["sh", "-c", command]).exitStatus == 0)
            let first = try #require(try await station.status().sessions.first)
            #expect(first.acquiredBy == "certificate")
            let text = try await station.ksso("status").output
            #expect(text.contains("acquired by ksso with the certificate \(identity)\n"), "\(text)")
            let refresh = try await station.ksso("refresh")
            #expect(refresh.exitStatus == 0 && refresh.output.hasPrefix("alice@EXAMPLE.TEST is signed in until "), "\(refresh)")
            let second = try #require(try await station.status().sessions.first)
            #expect(second.ticketExpires > first.ticketExpires && second.acquiredBy == "certificate")
            #expect(try await station.run(["klist", "-s"]).exitStatus == 0)
        }
    }

    /// A comma is a separator only between the paths of a certificate and its key.
    @Test func `the path of a certificate may contain commas`() async throws {
        try await withKDC { station, _ in
            let protected = try await station.realm.certificate(for: "alice", pin: "1234").identity
            let folder = "\(station.realm.directory)/a,b"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            try FileManager.default.copyItem(atPath: String(protected.dropFirst("PKCS12:".count)), toPath: "\(folder)/c,d.p12")
            let command = "cd \(folder) && exec ksso login alice --lifetime 10m --certificate PKCS12:c,d.p12 --password-stdin"
            let login = try await station.run(["sh", "-c", command], input: "1234\n")
            #expect(login.exitStatus == 0, "\(login)")
            let text = try await station.ksso("status").output
            #expect(text.contains("with the certificate PKCS12:\(folder)/c,d.p12\n"), "\(text)")
            let refresh = try await station.ksso("refresh", "--password-stdin", input: "1234\n")
            #expect(refresh.exitStatus == 0, "\(refresh)")
            let pair = try await station.realm.certificate(for: "alice")
            for (path, name) in [(pair.certificatePath, "e.crt"), (pair.keyPath, "e.key")] {
                try FileManager.default.copyItem(atPath: path, toPath: "\(folder)/\(name)")
            }
            let ofFolder = try await station.ksso("login", "alice", "--force", "--certificate", "DIR:\(folder)")
            #expect(ofFolder.exitStatus == 0, "\(ofFolder)")
        }
    }

    @Test func `ksso refresh prompts for the PIN if the certificate requires one`() async throws {
        try await withKDC { station, _ in
            let protected = try await station.realm.certificate(for: "alice", pin: "1234").identity
            let words = ["login", "alice", "--lifetime", "10m", "--certificate", protected, "--password-stdin"]
            #expect(try await station.run(["ksso"] + words, input: "1234\n").exitStatus == 0)
            let first = try #require(try await station.status().sessions.first)
            // No prompt is available, or --quiet forbids it.
            for refused in [try await station.ksso("refresh"), try await station.ksso("refresh", "--quiet")] {
                let advice = "ksso login alice@EXAMPLE.TEST --certificate \(protected)"
                #expect(
                    refused.exitStatus == 4 && refused.errors.contains("requires its PIN") && refused.errors.contains(advice),
                    "\(refused)"
                )
            }
            #expect(try await station.status().sessions.first?.ticketExpires == first.ticketExpires)
            let given = try await station.ksso("refresh", "--password-stdin", input: "1234\n")
            #expect(given.exitStatus == 0, "\(given)")
            #expect(try #require(try await station.status().sessions.first).ticketExpires > first.ticketExpires)
            // The lifetime is short, because a ticket with a longer one would be renewed without the PIN.
            #expect(try await station.run(["ksso"] + words + ["--force"], input: "1234\n").exitStatus == 0)
            let (status, _) = try await Conversation.atTerminal("exec ksso refresh", on: station) { terminal in
                try await terminal.wait(for: ".p12")
                try await terminal.type("1234\n")
                try await terminal.wait(for: "is signed in until")
            }
            #expect(status == 0)
        }
    }

    @Test func `the agent signs in with a certificate, but loads no module that the request names`() async throws {
        try await withKDC { station, identity in
            let protected = try await station.realm.certificate(for: "alice", pin: "1234").identity
            try await station.withAgent { _ async throws in
                func login(_ fields: String) async throws -> String {
                    try await station.run([
                        "curl", "-sS", "--unix-socket", "\(station.runtime)/agent.sock", "-H", "Content-Type: application/json", "-d",
                        #"{"principal": "alice", \#(fields)}"#, "http://agent/v1/login",
                    ]).output
                }
                let plain = try await login(#""certificate": "\#(identity)""#)
                #expect(plain.contains(#""acquiredBy":"certificate""#), "\(plain)")
                let unasked = try await login(#""certificate": "\#(protected)""#)
                #expect(unasked.contains(#""code":"notInteractive""#), "\(unasked)")
                let given = try await login(#""certificate": "\#(protected)", "pin": "1234""#)
                #expect(given.contains(#""acquiredBy":"certificate""#), "\(given)")
                #expect(!given.contains("1234"))
                // The agent would load the module, or the one that an environment variable names.
                for module in ["PKCS11:/tmp/any.so", "PKCS11:module_name=any.so", "PKCS11:token=a:any.so", "ENV:HOME", "XYZ:/a"] {
                    let refused = try await login(#""certificate": "\#(module)""#)
                    #expect(refused.contains(#""code":"certificateRefused""#) && refused.contains("cannot be used here"), "\(refused)")
                }
                let card = try await login(#""certificate": "PKCS11:""#)
                #expect(!card.contains("cannot be used here"), "\(card)")
            }
        }
    }

    @Test func `AgentClient signs in with a certificate`() async throws {
        try await withKDC("CertificateIdentity: 'IDENTITY'\n") { station, identity in
            let protected = try await station.realm.certificate(for: "alice", pin: "1234").identity
            try await station.withAgent { _ async throws in
                let client = AgentClient(socketPath: "\(station.runtime)/agent.sock")
                for session in [
                    try await client.login("alice", using: .certificate(identity)),
                    try await client.login("alice", using: .configuredCertificate),
                    try await client.login("alice", using: .certificate(protected, pin: Secret("1234"))),
                ] {
                    #expect(session.principal == "alice@EXAMPLE.TEST" && session.signedIn && session.acquiredBy == "certificate")
                }
                let unasked = await #expect(throws: AuthorizationError.self) {
                    try await client.login("alice", using: .certificate(protected))
                }
                #expect(unasked?.code == .notInteractive)
                let refused = await #expect(throws: AuthorizationError.self) {
                    try await client.login("alice", using: .certificate(protected, pin: Secret("wrong")))
                }
                #expect(refused?.code.rawValue == "certificateRefused" && refused?.message.contains("wrong") == false, "\(refused as Any)")
                #expect(try await station.realm.failedAttempts(of: "alice") == 0)
            }
        }
    }

    /// The ticket is valid for seconds and is not renewable.
    @Test func `the agent reacquires an expiring ticket with the certificate`() async throws {
        try await withKDC { station, identity in
            let protected = try await station.realm.certificate(for: "alice", pin: "1234").identity
            try await station.withAgent { agent async throws in
                let login = ["login", "alice", "--force", "--lifetime", "6s", "--certificate"]
                #expect(try await station.run(["ksso"] + login + [identity]).exitStatus == 0)
                let first = try #require(try await station.status().sessions.first)
                try await eventually {
                    guard let session = try await station.status().sessions.first else { return false }
                    return session.ticketExpires > first.ticketExpires && session.acquiredBy == "certificate"
                }
                let words = login + [protected, "--password-stdin"]
                #expect(try await station.run(["ksso"] + words, input: "1234\n").exitStatus == 0)
                try await agent.wait(for: "requires its PIN, but no prompt is available")
            }
        }
    }

    @Test func `the agent accepts a PKCS#11 module that the profile names`() async throws {
        let module = "PKCS11:/nonexistent/module.so"
        try await withKDC("CertificateIdentity: '\(module)'\n") { station, _ in
            try await station.withAgent { _ async throws in
                let answer = try await station.run([
                    "curl", "-sS", "--unix-socket", "\(station.runtime)/agent.sock", "-H", "Content-Type: application/json", "-d",
                    #"{"principal": "alice", "certificate": "\#(module)"}"#, "http://agent/v1/login",
                ]).output
                #expect(answer.contains("certificateRefused") && !answer.contains("cannot be used here"), "\(answer)")
            }
        }
    }

    /// Any process that can write to the cache can change the entry that names the certificate.
    @Test func `ksso refresh loads no PKCS#11 module that a cache entry names`() async throws {
        try await withKDC { station, identity in
            #expect(try await station.ksso("login", "alice", "--lifetime", "10m", "--certificate", identity).exitStatus == 0)
            let cache = try #require(try await station.status().sessions.first?.cache)
            let marks = ["ksso_acquired_by": "certificate", "ksso_certificate": "PKCS11:/nonexistent/module.so"]
            let name = CredentialCacheName(rawValue: cache)
            let client = KerberosClient(station.realm.configuration)
            let contents = try await client.contents(of: name)
            try await client.replace(name, principal: contents.principal, credentials: contents.credentials, marks: marks)
            let refused = try await station.ksso("refresh")
            #expect(refused.exitStatus == 4 && refused.errors.contains("cannot be reused"), "\(refused)")
        }
    }

    @Test func `of the certificates in a folder, the one that names the user is selected, or all are listed`() async throws {
        try await withKDC { station, _ in
            try await station.realm.addUser("bob", password: "secret")
            let folder = "\(station.directory)/certificates"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            func add(_ user: String, as name: String) async throws {
                let certificate = try await station.realm.certificate(for: user)
                try FileManager.default.copyItem(atPath: certificate.certificatePath, toPath: "\(folder)/\(name).crt")
                try FileManager.default.copyItem(atPath: certificate.keyPath, toPath: "\(folder)/\(name).key")
            }
            for user in ["alice", "bob"] { try await add(user, as: user) }
            let login = try await station.ksso("login", "alice", "--certificate", "DIR:\(folder)")
            #expect(login.exitStatus == 0, "\(login)")
            try await add("alice", as: "old")
            let undecided = try await station.ksso("login", "alice", "--force", "--certificate", "DIR:\(folder)")
            #expect(undecided.exitStatus != 0 && undecided.errors.contains("pass its files as FILE:CERTIFICATE,KEY."), "\(undecided)")
        }
    }

    /// libkrb5 by itself would fall back to the password.
    @Test func `a certificate that cannot be used causes no attempt with a password`() async throws {
        try await withKDC { station, _ in
            let protected = try await station.realm.certificate(for: "alice", pin: "1234").identity
            let none = try station.write("no certificate\n", to: "none.pem")
            for (identity, input) in [("FILE:\(none),\(none)", "secret\n"), (protected, "secret\n")] {
                let words = ["ksso", "login", "alice", "--certificate", identity, "--password-stdin"]
                let login = try await station.run(words, input: input)
                #expect(login.exitStatus == 1 && login.errors.contains("no certificate could be used"), "\(login)")
                #expect(login.errors.contains("no password was tried"))
            }
            #expect(try await station.realm.failedAttempts(of: "alice") == 0)
            #expect(try await station.run(["klist", "-s"]).exitStatus == 1)
        }
    }

    @Test func `a certificate of another principal is reported with advice`() async throws {
        try await withKDC { station, identity in
            try await station.realm.addUser("bob", password: "secret")
            let login = try await station.ksso("login", "bob", "--certificate", identity)
            let sentence = "bob@EXAMPLE.TEST: the certificate belongs to another principal (Client name mismatch; "
            let advice =
                "Pass the certificate of bob@EXAMPLE.TEST with --certificate (certlabel=LABEL selects one of a card), or sign in as its "
                + "owner.\n"
            #expect(login.exitStatus == 1 && login.errors.contains(sentence) && login.errors.hasSuffix(advice), "\(login)")
            #expect(try await station.realm.failedAttempts(of: "bob") == 0)
        }
    }

    @Test func `allowPassword: false in the profile forbids sign-ins with a password`() async throws {
        try await withKDC("CertificateIdentity: 'IDENTITY'\n", data: ["allowPassword: false"]) { station, _ in
            let password = try await station.ksso("login", "alice", "--password-stdin", input: "secret\n")
            #expect(password.exitStatus == 1 && password.errors.contains("sets allowPassword to false"), "\(password)")
            #expect(try await station.ksso("login", "alice", "--certificate", "default").exitStatus == 0)
        }
    }

    @Test func `allowSmartCard: false in the profile forbids sign-ins with a certificate`() async throws {
        try await withKDC(data: ["allowSmartCard: false"]) { station, identity in
            let refused = try await station.ksso("login", "alice", "--certificate", identity)
            #expect(refused.exitStatus == 1 && refused.errors.contains("sets allowSmartCard to false"), "\(refused)")
            #expect(try await station.ksso("login", "alice", "--password-stdin", input: "secret\n").exitStatus == 0)
        }
    }

    @Test func `identityIssuerAutoSelectFilter excludes certificates of other issuers`() async throws {
        let filters = [("*Test CA*", 0), ("O=EXAMPLE.TEST,CN=Test CA *", 0), ("*Other CA*", 1), ("Test CA", 1)]
        for (filter, status) in filters as [(String, Int)] {
            try await withKDC(data: ["identityIssuerAutoSelectFilter: '\(filter)'"]) { station, identity in
                let login = try await station.ksso("login", "alice", "--certificate", identity)
                #expect(login.exitStatus == status, "\(filter): \(login)")
            }
        }
    }

    @Test func `pkinit_identities in krb5.conf sets the default certificate`() async throws {
        try await withKDC { station, identity in
            let path = try station.write("[libdefaults]\n    pkinit_identities = \(identity)\n", to: "krb5.conf")
            let variables = ["KRB5_CONFIG": "\(path):\(station.realm.configurationPath)"]
            let login = try await station.ksso("login", "alice", "--certificate", "default", environment: variables)
            #expect(login.exitStatus == 0, "\(login)")
        }
        try await withKDC { station, _ in
            let login = try await station.ksso("login", "alice", "--certificate", "default")
            #expect(login.exitStatus == 1 && login.errors.contains("no certificate is configured"), "\(login)")
        }
    }

    /// libkrb5 would otherwise prefer PKINIT, and would not check what was given.
    @Test func `a certificate in krb5.conf does not replace a password or a keytab`() async throws {
        try await withKDC { station, identity in
            let path = try station.write("[libdefaults]\n    pkinit_identities = \(identity)\n", to: "krb5.conf")
            let variables = ["KRB5_CONFIG": "\(path):\(station.realm.configurationPath)"]
            let login = try await station.ksso("login", "alice", "--password-stdin", input: "wrong\n", environment: variables)
            #expect(login.exitStatus == 1 && login.errors.contains("the password is wrong"), "\(login)")
            let change = try await station.ksso(
                "passwd",
                "alice",
                "--password-stdin",
                input: "wrong\nnew-secret-1\n",
                environment: variables
            )
            #expect(change.exitStatus == 1 && change.errors.contains("password is wrong"), "\(change)")
            let keytab = "\(station.directory)/wrong.keytab"
            let keys = "add_entry -password -p alice@EXAMPLE.TEST -k 1 -e aes256-cts\nwrong\nwrite_kt \(keytab)\n"
            _ = try await station.run(["ktutil"], input: keys)
            let key = try await station.ksso("login", "alice", "--keytab", keytab, environment: variables)
            #expect(key.exitStatus == 1 && key.errors.contains("the key in the keytab"), "\(key)")
            #expect(try await station.ksso("login", "alice", "--password-stdin", input: "secret\n", environment: variables).exitStatus == 0)
        }
    }

    /// The command line does not mention the certificate, and the terminal gets no input.
    @Test func `startInSmartCardMode makes ksso login start with the certificate`() async throws {
        try await withKDC("CertificateIdentity: 'IDENTITY'\n", data: ["startInSmartCardMode: true"]) { station, _ in
            let conversation = try await station.run(["script", "-qec", "ksso login alice", "/dev/null"])
            #expect(conversation.output.contains("alice@EXAMPLE.TEST is signed in until"), "\(conversation)")
        }
    }
}

/// Sign-ins with a certificate on a machine where the optional PKINIT plugin is not installed.
@Suite(.testRealm(users: ["alice": "secret"]))
struct MissingCertificatePluginTests {
    @Test(.enabled(if: !LibraryPlugin.pkinit.isInstalled, "krb5-pkinit is installed"))
    func `a sign-in with a certificate names the missing krb5-pkinit package`() async throws {
        let station = try Workstation()
        let file = try station.write("no certificate\n", to: "none.pem")
        let login = try await station.ksso("login", "alice", "--certificate", "FILE:\(file),\(file)")
        #expect(login.exitStatus == 1 && login.errors.contains("install krb5-pkinit"), "\(login)")
        let both = try await station.ksso("login", "--certificate", "FILE:/a", "--keytab", "/b")
        #expect(both.exitStatus == 64)
    }
}
