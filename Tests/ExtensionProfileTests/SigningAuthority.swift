import Foundation
import TestSupport
import Testing

/// A certificate authority for one test, which signs profiles with openssl.
final class SigningAuthority {
    let folder = try? TemporaryFolder()
    private var path: String { folder?.path ?? "/nonexistent" }

    /// The authority's certificate.
    var anchor: String { "\(path)/ca.pem" }
    var anchorData: Data { get throws { try Data(contentsOf: URL(filePath: anchor)) } }

    init() throws {
        try openssl(["req", "-x509", "-days", "1", "-subj", "/O=Corp/CN=Corp CA", "-out", "ca.pem"] + Self.key("ca.key"))
    }

    /// Issues a certificate.
    ///
    /// - Parameters:
    ///   - days: The validity in days from `start`.
    ///   - usage: The certificate's extensions, each a line of an openssl configuration.
    func issue(_ name: String, days: Int = 1, start: Date? = nil, usage: [String] = []) throws {
        try openssl(["req", "-subj", "/O=Corp/CN=\(name)", "-out", "\(name).csr"] + Self.key("\(name).key"))
        try "".write(toFile: "\(path)/index.txt", atomically: true, encoding: .utf8)
        let configuration = """
            [ca]
            default_ca = own
            [own]
            database = \(path)/index.txt
            new_certs_dir = \(path)
            rand_serial = yes
            default_md = sha256
            policy = any
            [any]
            O = optional
            CN = supplied
            [usage]
            \(usage.joined(separator: "\n"))
            """
        try configuration.write(toFile: "\(path)/ca.cnf", atomically: true, encoding: .utf8)
        let from = start ?? Date(timeIntervalSinceNow: -60)
        let dates = ["-startdate", Self.stamp(from), "-enddate", Self.stamp(from.addingTimeInterval(Double(days) * 86400))]
        try openssl(
            [
                "ca", "-batch", "-notext", "-config", "ca.cnf", "-cert", "ca.pem", "-keyfile", "ca.key", "-in", "\(name).csr", "-out",
                "\(name).pem",
            ]
                + dates + (usage.isEmpty ? [] : ["-extensions", "usage"])
        )
    }

    /// Signs a text; the result includes the text.
    ///
    /// - Parameter days: By how many days the signer's clock is set back, with libfaketime.
    func sign(_ text: String, as name: String, _ options: [String] = ["-outform", "DER"], daysAgo days: Int = 0) throws -> Data {
        try text.write(toFile: "\(path)/plain", atomically: true, encoding: .utf8)
        let signer = ["-signer", "\(name).pem", "-inkey", "\(name).key"]
        let clock = days == 0 ? [:] : ["LD_PRELOAD": Self.clockLibrary ?? "", "FAKETIME": "-\(days)d"]
        try openssl(["cms", "-sign", "-binary", "-nodetach", "-in", "plain", "-out", "signed"] + signer + options, environment: clock)
        return try Data(contentsOf: URL(filePath: "\(path)/signed"))
    }

    /// The path of libfaketime, unpacked by `Scripts/install-packages` or installed.
    static let clockLibrary: String? = {
        let unpacked = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../.build/unpacked/usr/lib").standardized
            .path
        return [unpacked, "/usr/lib"].lazy.flatMap { root in
            ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).map { "\(root)/\($0)/faketime/libfaketimeMT.so.1" }
        }.first(where: FileManager.default.fileExists(atPath:))
    }()

    private static func key(_ name: String) -> [String] {
        ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-keyout", name]
    }

    private static func stamp(_ date: Date) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "yyyyMMddHHmmss'Z'"
        return formatter.string(from: date)
    }

    private func openssl(_ arguments: [String], environment: [String: String] = [:]) throws {
        let command = ["env", "-C", path] + environment.map { "\($0)=\($1)" } + ["/usr/bin/openssl"] + arguments
        try #require(succeeds(command), "openssl \(arguments.joined(separator: " "))")
    }
}
