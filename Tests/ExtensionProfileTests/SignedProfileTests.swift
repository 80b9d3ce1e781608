import Foundation
import SignOnPolicy
import Testing

@testable import ExtensionProfile

/// Profiles signed with openssl, and whether their signers are trusted.
@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: OpenSSLProcess.program), "openssl is missing"))
struct SignedProfileTests {
    private static let text = profileText(realm: "A.TEST", hosts: "a.test")

    private func policy(_ authority: SigningAuthority, requiresSignature: Bool = true) throws -> ProfilePolicy {
        ProfilePolicy(requiresSignature: requiresSignature, anchors: [try authority.anchorData])
    }

    @Test(arguments: [["-outform", "DER"], ["-outform", "PEM"], ["-outform", "DER", "-stream"], ["-outform", "DER", "-noattr"]])
    func `a signed profile is read and its signer is reported`(_ options: [String]) throws {
        let authority = try SigningAuthority()
        try authority.issue("Profiles")
        let data = try authority.sign(Self.text, as: "Profiles", options)
        let profile = try Profile(data: data, source: "a.mobileconfig.yaml", policy: policy(authority))
        #expect(profile.configurations.map(\.realm) == ["A.TEST"])
        let signature = try #require(profile.signature)
        #expect(signature.trust == .trusted && signature.isTrusted)
        #expect(signature.signers.map(\.subject) == ["CN=Profiles,O=Corp"])
        #expect(signature.signers.map(\.issuer) == ["CN=Corp CA,O=Corp"])
        #expect(signature.signers.allSatisfy { $0.validFrom < Date() && $0.validUntil > Date() })
        #expect(try Profile(data: Data(Self.text.utf8), source: "a.yaml").signature == nil)
    }

    @Test func `a signed property list is read as a property list`() throws {
        let signature = try #require(try Fixture.profile("signed.mobileconfig").signature)
        guard case .untrusted(let reason) = signature.trust else { return #expect(Bool(false), "\(signature)") }
        #expect(reason.contains("self-signed") && signature.signers.map(\.subject) == ["CN=Example"])
    }

    /// Changes one byte: of the content, or the last byte of the file.
    @Test(arguments: ["A.TEST", nil] as [String?])
    func `a signed file that was changed is refused under any policy`(_ word: String?) throws {
        let authority = try SigningAuthority()
        try authority.issue("Profiles")
        var data = try authority.sign(Self.text, as: "Profiles")
        let place = try word.map { try #require(data.range(of: Data($0.utf8))).lowerBound } ?? data.index(before: data.endIndex)
        data[place] ^= 1
        for policy in [ProfilePolicy.none, try policy(authority)] {
            let error = try #require(throws: ProfileError.self) { try Profile(data: data, source: "a.yaml", policy: policy) }
            #expect(error.code == .badSignature, "\(error)")
        }
    }

    @Test func `half a signed file, a certificate and a doubly signed file are refused`() throws {
        let authority = try SigningAuthority()
        try authority.issue("Profiles")
        let whole = try authority.sign(Self.text, as: "Profiles")
        for data in [whole.prefix(whole.count / 2), Data([0x30, 0x82, 0x01, 0x00]), try authority.anchorData] {
            let error = try #require(throws: ProfileError.self) { try Profile(data: data, source: "a.yaml") }
            #expect(error.code == .badSignature && error.reason.contains("not a signed profile"), "\(error)")
        }
        let twice = String(decoding: try authority.sign(Self.text, as: "Profiles", ["-outform", "PEM"]), as: UTF8.self)
        let again = try authority.sign(twice, as: "Profiles")
        #expect(throws: ProfileError.self) { try Profile(data: again, source: "a.yaml") }
    }

    @Test func `a signer of an authority that the policy does not name is untrusted`() throws {
        let (authority, other) = (try SigningAuthority(), try SigningAuthority())
        try other.issue("Profiles")
        let data = try other.sign(Self.text, as: "Profiles")
        let profile = try Profile(data: data, source: "a.yaml", policy: policy(authority, requiresSignature: false))
        #expect(profile.signature?.isTrusted == false)
        let error = try #require(throws: ProfileError.self) { try Profile(data: data, source: "a.yaml", policy: policy(authority)) }
        #expect(error.code == .untrustedSigner && error.reason.contains("CN=Profiles,O=Corp"), "\(error)")
        // The system's authorities have issued neither certificate.
        #expect(try Profile(data: data, source: "a.yaml").signature?.isTrusted == false)
    }

    @Test func `the signer's own certificate can be the anchor`() throws {
        let authority = try SigningAuthority()
        try authority.issue("Profiles")
        let data = try authority.sign(Self.text, as: "Profiles")
        let own = try Data(contentsOf: URL(filePath: "\(#require(authority.folder).path)/Profiles.pem"))
        let policy = ProfilePolicy(requiresSignature: true, anchors: [own])
        #expect(try Profile(data: data, source: "a.yaml", policy: policy).signature?.trust == .trusted)
    }

    @Test func `a new signature with an expired certificate is not trusted`() throws {
        let authority = try SigningAuthority()
        try authority.issue("Old", days: 1, start: Date(timeIntervalSinceNow: -10 * 86400))
        // The signature is dated now or, without attributes, has no date.
        for options in [["-outform", "DER"], ["-outform", "DER", "-noattr"]] {
            let data = try authority.sign(Self.text, as: "Old", options)
            let signature = try Profile(data: data, source: "a.yaml", policy: policy(authority, requiresSignature: false)).signature
            #expect(signature?.trust == .expired)
            let error = try #require(throws: ProfileError.self) { try Profile(data: data, source: "a.yaml", policy: policy(authority)) }
            #expect(error.code == .untrustedSigner && error.reason.contains("expired"))
        }
    }

    /// If the certificate itself is the anchor, it is enough that it was valid at the time of signing.
    @Test(.enabled(if: SigningAuthority.clockLibrary != nil, "libfaketime is missing: Scripts/install-packages unpacks it"))
    func `a signature made while an anchor certificate was valid stays trusted`() throws {
        let authority = try SigningAuthority()
        let start = Date(timeIntervalSinceNow: -10 * 86400)
        try authority.issue("Old", days: 2, start: start)
        let own = try Data(contentsOf: URL(filePath: "\(#require(authority.folder).path)/Old.pem"))
        let policy = ProfilePolicy(requiresSignature: true, anchors: [own])
        let data = try authority.sign(Self.text, as: "Old", daysAgo: 9)
        let signature = try #require(try Profile(data: data, source: "a.yaml", policy: policy).signature)
        guard case .trustedWhenSigned(let date) = signature.trust else { return #expect(Bool(false), "\(signature)") }
        #expect(signature.isTrusted && start < date && date < start.addingTimeInterval(2 * 86400))
        #expect(try !ProfileReport.check(data: data, source: "a.yaml", policy: policy).hasErrors)
        // Signed before the certificate was valid, and after.
        for days in [20, 1] {
            let data = try authority.sign(Self.text, as: "Old", daysAgo: days)
            let error = try #require(throws: ProfileError.self) { try Profile(data: data, source: "a.yaml", policy: policy) }
            #expect(error.code == .untrustedSigner && error.reason.contains("expired"), "\(error)")
        }
    }

    /// A web server's certificate cannot sign a profile, unless the certificate itself is the anchor.
    @Test(
        arguments: [
            ([], true), (["extendedKeyUsage=emailProtection"], true), (["extendedKeyUsage=serverAuth,codeSigning"], true),
            (["keyUsage=critical,digitalSignature", "extendedKeyUsage=codeSigning"], true), (["extendedKeyUsage=serverAuth"], false),
            (["extendedKeyUsage=serverAuth,clientAuth", "keyUsage=digitalSignature"], false), (["keyUsage=keyEncipherment"], false),
            (["keyUsage=keyAgreement", "extendedKeyUsage=emailProtection"], false),
        ] as [([String], Bool)]
    )
    func `a certificate for another usage cannot sign a profile unless it is the anchor`(usage: [String], isTaken: Bool) throws {
        let authority = try SigningAuthority()
        try authority.issue("Profiles", usage: usage)
        let data = try authority.sign(Self.text, as: "Profiles")
        let report = try ProfileReport.check(data: data, source: "a.yaml", policy: policy(authority))
        #expect((report.refusal == nil) == isTaken && report.signature?.isTrusted == isTaken, "\(String(describing: report.refusal))")
        #expect(isTaken || report.refusal?.code == .untrustedSigner)
        let own = try Data(contentsOf: URL(filePath: "\(#require(authority.folder).path)/Profiles.pem"))
        let named = try Profile(data: data, source: "a.yaml", policy: ProfilePolicy(requiresSignature: true, anchors: [own]))
        #expect(named.signature?.trust == .trusted && named.signature?.signers.map(\.isAnchor) == [true])
    }

    /// The signer chooses the date of signing.
    @Test func `a signing date does not excuse an expired certificate of an authority`() throws {
        let authority = try SigningAuthority()
        let required = try policy(authority)
        for isAnchor in [true, false] {
            let signer = ProfileSignature.Signer(subject: "CN=A", issuer: "CN=B", validFrom: Date(), validUntil: Date(), isAnchor: isAnchor)
            let signature = ProfileSignature(signers: [signer], trust: .trustedWhenSigned(Date()))
            #expect(signature.isTrusted == isAnchor)
            #expect(required.refusal(of: signature, source: "a.yaml")?.code == (isAnchor ? nil : .untrustedSigner))
        }
    }

    @Test func `a repeated signer counts once, and more than eight signatures are refused`() throws {
        let authority = try SigningAuthority()
        try authority.issue("Profiles")
        let folder = try #require(authority.folder).path
        func data(times: Int) throws -> Data {
            let again = (1..<times).flatMap { _ in ["-signer", "\(folder)/Profiles.pem", "-inkey", "\(folder)/Profiles.key"] }
            // Because openssl adds no certificate twice, it is added separately and not by each signer.
            let once = ["-outform", "DER", "-nocerts", "-certfile", "\(folder)/Profiles.pem"]
            return try authority.sign(Self.text, as: "Profiles", once + again)
        }
        #expect(try Profile(data: data(times: 8), source: "a.yaml", policy: policy(authority)).signature?.signers.count == 1)
        for policy in [ProfilePolicy.none, try policy(authority)] {
            let error = try #require(throws: ProfileError.self) { try Profile(data: data(times: 9), source: "a.yaml", policy: policy) }
            #expect(error.code == .badSignature && error.reason.contains("9 signers"), "\(error)")
        }
    }

    @Test func `a policy that requires signatures refuses an unsigned profile`() throws {
        let authority = try SigningAuthority()
        let error = try #require(throws: ProfileError.self) {
            try Profile(data: Data(Self.text.utf8), source: "a.yaml", policy: policy(authority))
        }
        #expect(error.code == .unsigned)
        let report = try ProfileReport.check(data: Data(Self.text.utf8), source: "a.yaml", policy: policy(authority))
        #expect(report.hasErrors && report.refusal == error && !report.rows.isEmpty)
    }

    /// One program prints nothing, one prints endlessly, and one closes its output.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [("/bin/sleep", ["600"]), ("/usr/bin/yes", ["x"]), ("/bin/sh", ["-c", "exec >&- 2>&-; exec sleep 600"])]
    )
    func `a signature program that does not exit is terminated and reported`(program: String, words: [String]) throws {
        let run = try OpenSSLProcess(program: program, limit: .milliseconds(100))
        // The time limit is for all runs together, so the second run has none left.
        for _ in 0..<2 {
            let failure = #expect(throws: OpenSSLProcess.Failure.self) { try run.run(words) }
            #expect(failure?.reason == "\(program) does not exit")
        }
    }

    @Test func `the temporary directory of an openssl run is removed`() throws {
        let run = try OpenSSLProcess()
        let folder = run.folder
        #expect(folder.hasPrefix(FileManager.default.temporaryDirectory.path + "/ksso-signature-"))
        try run.write(Data("a".utf8), to: "file")
        #expect(FileManager.default.fileExists(atPath: "\(folder)/file"))
        #expect(try run.run(["version"]).text.contains("SSL"))
        #expect(try !run.run(["x509", "-in", "/nonexistent"]).isSuccess)
        _ = consume run
        #expect(!FileManager.default.fileExists(atPath: folder))
    }
}
