import BenchmarkSupport
import Foundation
import KerberosTesting

/// A squid that requires Negotiate, by its helper negotiate_kerberos_auth.
struct Squid: Sendable {
    let port: Int
    private let directory: String

    nonisolated(nonsending) static func with(
        _ realm: TestRealm,
        _ body: nonisolated(nonsending) (Squid) async throws -> Void
    ) async throws {
        // Not in the realm's directory, which squid's account cannot read.
        let directory = FileManager.default.temporaryDirectory.appending(path: "squid-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let squid = Squid(port: try Bench.freePort(), directory: directory)
        try await squid.writeFiles(realm)
        let environment = realm.environment.merging([
            "KRB5_CONFIG": "\(directory)/krb5.conf", "KRB5_KTNAME": "FILE:\(directory)/keytab", "KRB5RCACHENAME": "none:",
        ]) { $1 }
        let command = ["squid", "-N", "-f", "\(directory)/squid.conf"]
        try await BackgroundProcess.with(command, environment: environment, logPath: "\(directory)/output") { process in
            if let failure = try await Bench.failure(of: process, toListenAt: squid.port) {
                throw Unavailable(reason: "squid: \(failure)")
            }
            try await body(squid)
        }
    }

    private func writeFiles(_ realm: TestRealm) async throws {
        let files = FileManager.default
        try files.copyItem(atPath: realm.configurationPath, toPath: "\(directory)/krb5.conf")
        try files.moveItem(atPath: try await realm.keytab(for: "HTTP/localhost"), toPath: "\(directory)/keytab")
        try configuration.write(toFile: "\(directory)/squid.conf", atomically: true, encoding: .utf8)
        guard geteuid() == 0 else { return }
        let result = try await realm.run("chown", ["-R", "proxy:proxy", directory])
        guard result.exitStatus == 0 else { throw Unavailable(reason: "squid's files: \(result.errors)") }
    }

    private var configuration: String {
        """
        http_port 127.0.0.1:\(port)
        visible_hostname localhost
        cache_effective_user proxy
        pid_filename \(directory)/squid.pid
        cache_log \(directory)/cache.log
        logformat figures %>Hs %rm %ru %un
        strip_query_terms off
        access_log stdio:\(directory)/access.log figures
        coredump_dir \(directory)
        netdb_filename none
        cache deny all
        pinger_enable off
        max_filedescriptors 16384
        shutdown_lifetime 0 seconds
        auth_param negotiate program /usr/lib/squid/negotiate_kerberos_auth -k \(directory)/keytab -s GSS_C_NO_NAME
        auth_param negotiate children 16 startup=8 idle=4
        acl known proxy_auth REQUIRED
        http_access allow known
        http_access deny all

        """
    }

    /// Counts the logged requests whose URL ends with a text: those of the user that were answered with 200, those that were answered with
    /// 200 for anyone else, and those that were answered with 407.
    func requests(endingWith text: String, user: String) throws -> (authenticated: Int, others: Int, challenged: Int) {
        var counts = (authenticated: 0, others: 0, challenged: 0)
        for line in try String(contentsOfFile: "\(directory)/access.log", encoding: .utf8).split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count == 4, words[2].hasSuffix(text) else { continue }
            if words[0] == "407" { counts.challenged += 1 }
            guard words[0] == "200" else { continue }
            if words[3] == user { counts.authenticated += 1 } else { counts.others += 1 }
        }
        return counts
    }
}
