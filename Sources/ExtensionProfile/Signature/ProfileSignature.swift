public import Foundation
internal import SystemSupport

/// The signers of a profile (CMS SignedData, RFC 5652), and whether they are trusted. The signature matches the content: a file whose
/// signature does not match is refused.
public struct ProfileSignature: Sendable, Hashable {
    /// A signer, as named by the certificate.
    public struct Signer: Sendable, Hashable {
        /// The certificate's subject in the form of RFC 2253.
        public let subject: String
        /// The certificate's issuer.
        public let issuer: String
        /// The start of the certificate's validity.
        public let validFrom: Date
        /// The end of the certificate's validity.
        public let validUntil: Date
        /// Whether the certificate itself is an anchor of the policy.
        var isAnchor = false
    }

    /// Whether the signers' certificates lead to an anchor of ``ProfilePolicy``, or if it has none, to one of the system's.
    public enum Trust: Sendable, Hashable {
        /// They lead to an anchor.
        case trusted
        /// They led to an anchor at the signing time in the signature; a certificate has expired since then.
        case trustedWhenSigned(Date)
        /// They lead to an anchor, but a certificate has expired, and the signature has no signing time at which all were valid.
        case expired
        /// They lead to no anchor, for the given reason.
        case untrusted(reason: String)
    }

    /// The signers; at least one.
    public let signers: [Signer]
    /// Whether the signers are trusted.
    public let trust: Trust

    /// Whether a machine that requires signed profiles accepts this one.
    public var isTrusted: Bool {
        switch trust {
        case .trusted: true
        // The signer writes the signing time, so it cannot prove that an expired certificate below an authority was valid. An anchor is
        // trusted because the administrator chose it.
        case .trustedWhenSigned: signers.allSatisfy(\.isAnchor)
        case .expired, .untrusted: false
        }
    }
}

extension ProfileSignature: CustomStringConvertible {
    /// Signers and trust on one line. It is the same at any time, because the agent compares warnings that contain it.
    public var description: String { text(\.localText) }

    /// Signers, the time left until their certificates expire, and trust on one line.
    package var textWithTimeLeft: String { text(\.localTextWithTimeLeft) }

    private func text(_ end: (Date) -> String) -> String {
        let names = signers.map { "\($0.subject), issued by \($0.issuer), until \(end($0.validUntil))" }
        return "signed by \(names.joined(separator: "; and by ")): \(trust)"
    }
}

extension ProfileSignature.Trust: CustomStringConvertible {
    /// The trust as text.
    public var description: String {
        switch self {
        case .trusted: "trusted"
        case .trustedWhenSigned(let date): "trusted at the time of signing, \(date.localText)"
        case .expired: "not trusted: a certificate has expired"
        case .untrusted(let reason): "not trusted: \(reason)"
        }
    }
}

extension ProfileSignature {
    /// Verifies a signed profile and returns its content.
    ///
    /// Throws a ``ProfileError`` if the signature does not match or cannot be verified.
    static func check(_ data: Data, source: String, anchors: [Data]) throws(ProfileError) -> (content: Data, signature: ProfileSignature) {
        do {
            let run = try OpenSSLProcess()
            try run.write(data, to: "signed")
            let isPEM = data.starts(with: Array("-----BEGIN ".utf8))
            let verify = [
                "cms", "-verify", "-binary", "-inform", isPEM ? "PEM" : "DER", "-in", run.path("signed"), "-out", run.path("content"),
            ]
            let match = try run.run(verify + ["-noverify", "-signer", run.path("signers.pem")])
            guard match.isSuccess, let content = run.read("content"), let certificates = run.read("signers.pem") else {
                throw unmatched(match.text, source: source)
            }
            let blocks = blocks(of: certificates)
            guard blocks.count <= signerLimit else {
                let reason = "The profile has \(blocks.count) signers; at most \(signerLimit) are supported. Sign it with one."
                throw ProfileError(.badSignature, source: source, reason: reason)
            }
            let signers = try signers(blocks, anchors, run)
            guard !signers.isEmpty else { throw unmatched("", source: source) }
            var trust = try trust(verify, anchors, run)
            if trust == .trusted, let reason = try otherPurpose(blocks, anchors, run) { trust = .untrusted(reason: reason) }
            return (content, ProfileSignature(signers: signers, trust: trust))
        } catch let error as ProfileError {
            throw error
        } catch {
            let cause = (error as? OpenSSLProcess.Failure)?.reason ?? "\(error)"
            throw ProfileError(
                .signed,
                source: source,
                reason: "The profile is signed (CMS), but its signature cannot be checked: \(cause)."
            )
        }
    }

    private static func unmatched(_ text: String, source: String) -> ProfileError {
        let isSigned = text.contains("verification failure") || text.contains("verify error") || text.contains("digest")
        return ProfileError(
            .badSignature,
            source: source,
            reason: isSigned
                ? "The signature (CMS) does not match the content: the file was changed after it was signed. Fetch it again."
                : "This is not a signed profile (CMS SignedData with its content), although it begins like one. Fetch it again."
        )
    }

    private static func trust(
        _ verify: [String],
        _ anchors: [Data],
        _ run: borrowing OpenSSLProcess
    ) throws(OpenSSLProcess.Failure) -> Trust {
        // The purpose is checked separately, because openssl's e-mail purpose excludes code signing certificates.
        var arguments = verify + ["-purpose", "any"]
        if !anchors.isEmpty {
            try run.write(Data(anchors.joined(separator: Data("\n".utf8))), to: "anchors.pem")
            arguments += ["-CAfile", run.path("anchors.pem"), "-no-CApath", "-no-CAstore", "-partial_chain"]
        }
        let result = try run.run(arguments)
        if result.isSuccess { return .trusted }
        guard try run.run(arguments + ["-no_check_time"]).isSuccess else { return .untrusted(reason: reason(result.text)) }
        guard let date = try signingTime(verify, run), date < Date() else { return .expired }
        let then = try run.run(arguments + ["-attime", String(Int(date.timeIntervalSince1970))])
        return then.isSuccess ? .trustedWhenSigned(date) : .expired
    }

    private static func reason(_ text: String) -> String {
        guard let range = text.range(of: "Verify error:") else { return "its certificates chain to no anchor" }
        return text[range.upperBound...].prefix { !$0.isNewline }.trimmingCharacters(in: .whitespaces)
    }

    /// The signing time, a signed attribute (RFC 5652 section 11.3).
    private static func signingTime(_ verify: [String], _ run: borrowing OpenSSLProcess) throws(OpenSSLProcess.Failure) -> Date? {
        let input = Array(verify.drop { $0 != "-inform" }.prefix(4))
        let lines = try run.run(["cms", "-cmsout", "-print", "-noout"] + input).text.split(separator: "\n")
        let times = lines.drop { !$0.contains("signingTime") }.dropFirst().prefix { !$0.contains("object:") }
        return times.lazy.compactMap { line in
            ["UTCTIME:", "GENERALIZEDTIME:"].lazy.compactMap { line.range(of: $0)?.upperBound }.first.flatMap { date(line[$0...]) }
        }.first
    }

    /// The maximum number of signers, because each costs two runs of openssl.
    private static var signerLimit: Int { 8 }
    private static var blockEnd: String { "-----END CERTIFICATE-----" }

    /// The certificates of a PEM file, including their markers.
    private static func blocks(of certificates: Data) -> [String] {
        String(decoding: certificates, as: UTF8.self).components(separatedBy: blockEnd).dropLast()
            .map { $0.trimmingCharacters(in: .whitespacesAndNewlines) + "\n" + blockEnd + "\n" }
    }

    /// The DER contents of a PEM certificate.
    private static func content(of block: String) -> Data? {
        guard let start = block.range(of: "-----BEGIN CERTIFICATE-----"), let end = block.range(of: blockEnd) else { return nil }
        return Data(base64Encoded: String(block[start.upperBound..<end.lowerBound].filter { !$0.isWhitespace }))
    }

    private static func isAnchor(_ block: String, _ anchors: [Data]) -> Bool {
        guard let own = content(of: block) else { return false }
        return anchors.contains { anchor in blocks(of: anchor).contains { content(of: $0) == own } }
    }

    /// Why a signer's certificate is not for signing; nil if each one is, or is an anchor.
    private static func otherPurpose(
        _ blocks: [String],
        _ anchors: [Data],
        _ run: borrowing OpenSSLProcess
    ) throws(OpenSSLProcess.Failure) -> String? {
        for block in Set(blocks) where !isAnchor(block, anchors) {
            try run.write(Data(block.utf8), to: "signer.pem")
            let text = try run.run(["x509", "-noout", "-in", run.path("signer.pem"), "-ext", "extendedKeyUsage,keyUsage"]).text
            let lines = text.split(separator: "\n")
            func usage(_ name: String) -> Substring? {
                lines.firstIndex { $0.hasPrefix("X509v3 \(name):") }.flatMap { lines.dropFirst($0 + 1).first }
            }
            if let extended = usage("Extended Key Usage"),
                !["E-mail Protection", "Code Signing"].contains(where: { extended.contains($0) })
            {
                return "its certificate is not meant for signing (\(extended.trimmingCharacters(in: .whitespaces)))"
            }
            if let usage = usage("Key Usage"), !usage.contains("Digital Signature") {
                return "its certificate's key is not meant for signing"
            }
        }
        return nil
    }

    private static func signers(
        _ blocks: [String],
        _ anchors: [Data],
        _ run: borrowing OpenSSLProcess
    ) throws(OpenSSLProcess.Failure) -> [Signer] {
        var signers: [Signer] = []
        var seen: Set<String> = []
        for block in blocks where seen.insert(block).inserted {
            try run.write(Data(block.utf8), to: "signer.pem")
            let fields = ["-subject", "-issuer", "-startdate", "-enddate", "-nameopt", "RFC2253,-esc_msb,utf8"]
            let text = try run.run(["x509", "-noout", "-in", run.path("signer.pem")] + fields).text
            func value(_ name: String) -> Substring {
                text.split(separator: "\n").first { $0.hasPrefix("\(name)=") }?.dropFirst(name.count + 1) ?? ""
            }
            guard let from = date(value("notBefore")), let until = date(value("notAfter")) else { continue }
            let (subject, issuer) = (String(value("subject")), String(value("issuer")))
            signers.append(
                Signer(subject: subject, issuer: issuer, validFrom: from, validUntil: until, isAnchor: isAnchor(block, anchors))
            )
        }
        return signers
    }

    /// Parses openssl's dates, such as `Nov  1 16:47:47 2026 GMT`.
    private static func date(_ text: Substring) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "MMM d HH:mm:ss yyyy 'GMT'"
        return formatter.date(from: text.split(separator: " ").joined(separator: " "))
    }
}
