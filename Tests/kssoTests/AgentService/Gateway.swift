import Foundation
import KerberosTesting
import TestSupport
import Testing

/// nginx with the configuration of `Examples/nginx-gateway`, in a station's folder.
struct Gateway {
    private let station: Workstation
    private let upstream: String
    private let certificatePath: String?
    private let user: String
    private let folder: String
    private var socket: String { "\(folder)/http.sock" }

    /// - Parameters:
    ///   - certificatePath: The certificate that nginx trusts instead of the system's.
    ///   - user: The user of nginx's worker processes if root starts nginx.
    init(_ station: Workstation, upstream: String, trusting certificatePath: String? = nil, user: String = "root") {
        self.station = station
        self.upstream = upstream
        self.certificatePath = certificatePath
        self.user = user
        folder = "\(station.directory)/gateway"
    }

    /// Runs a closure while nginx serves.
    func run<Value>(_ body: () async throws -> Value) async throws -> Value {
        let program = try #require(StockProgram.nginx)
        try FileManager.default.createDirectory(atPath: "\(folder)/temporary", withIntermediateDirectories: true)
        for name in ["gateway.conf", "nginx.conf"] {
            var text = try String(contentsOfFile: repositoryFile("Examples/nginx-gateway/\(name)"), encoding: .utf8)
            // The comment at the top of gateway.conf lists the placeholders.
            text.replace("@UPSTREAM@", with: upstream)
            text.replace("@AGENT@", with: "\(station.directory)/run/agent.sock")
            text.replace("@LISTEN@", with: socket)
            if let certificatePath { text.replace("/etc/ssl/certs/ca-certificates.crt", with: certificatePath) }
            try station.write(text, to: "gateway/\(name)")
        }
        let more = geteuid() == 0 ? ["-g", "user \(user);"] : []
        let end = try await withDaemon(
            [program.path, "-e", "stderr", "-p", folder, "-c", "nginx.conf"] + more,
            on: station,
            environment: program.variables,
            isReady: { _ in try await eventually { try await status("/.sign-in") == 404 } },
            body
        )
        #expect(end.status == 0, "\(end.output)")
        return end.value
    }

    /// Fetches pages with curl, which prints each page's text followed by a line with its status.
    func curl(_ paths: [String], _ options: String...) async throws -> CommandResult {
        let pages = paths.map { "http://gateway\($0)" }
        return try await station.run(
            ["curl", "-sS", "--max-time", "120", "--unix-socket", socket, "--write-out", "%{http_code}\\n"] + options + pages
        )
    }

    /// The HTTP status of a page; nil if there is no reply.
    func status(_ path: String, _ options: String...) async throws -> Int? {
        let words = ["curl", "-s", "--max-time", "120", "--unix-socket", socket, "-o", "/dev/null", "-w", "%{http_code}"]
        let result = try await station.run(words + options + ["http://gateway\(path)"])
        return result.exitStatus == 0 ? Int(result.output) : nil
    }
}
