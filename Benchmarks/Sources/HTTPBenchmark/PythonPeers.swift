import BenchmarkSupport
import Foundation
import Subprocess
import SystemPackage

/// requests-gssapi and httpx-gssapi, in a Python of their own below `.build`.
struct PythonPeers: Sendable {
    static let packages = ["requests-gssapi==1.4.0", "httpx-gssapi==0.6"]

    let python: String

    /// Makes the Python on the first run; that takes the network, a C compiler and the headers of Python and Kerberos.
    static func install() async -> Result<PythonPeers, Unavailable> {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let folder = package.appending(path: ".build/peers").path
        let peers = PythonPeers(python: "\(folder)/bin/python")
        do {
            if (try? await run(peers.python, ["-c", "import requests_gssapi, httpx_gssapi"])) == nil {
                try await run("python3", ["-m", "venv", "--clear", folder])
                try await run(peers.python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"] + packages)
            }
            return .success(peers)
        } catch {
            return .failure(Unavailable(reason: "\(error)"))
        }
    }

    static func rows(_ site: Site, _ peers: Result<PythonPeers, Unavailable>) -> [Row] {
        ["requests", "httpx"].flatMap { library in
            [("401 first", "challenged", "\(library)401"), ("opportunistic_auth", "preemptive", library)].map { label, mode, tag in
                Row(name: "\(library)-gssapi, \(label)", tag: tag) { count in
                    let arguments = [library, mode, "\(site.server.url)/hello?\(tag)", site.greeting, "\(count)", site.certificate ?? ""]
                    return try Timing(printed: try await site.run(try peers.get().python, [script] + arguments))
                }
            }
        }
    }

    private static var script: String { Bundle.module.path(forResource: "peers", ofType: "py") ?? "peers.py" }

    @discardableResult
    private static func run(_ executable: String, _ arguments: [String]) async throws -> String {
        let program: Executable = executable.contains("/") ? .path(FilePath(executable)) : .name(executable)
        let result = try await Subprocess.run(
            program,
            arguments: Arguments(arguments),
            output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 20)
        )
        guard result.terminationStatus.isSuccess else {
            let words = result.standardError.split(separator: "\n").last ?? "no reason given"
            throw Unavailable(reason: "\(executable) \(arguments.prefix(3).joined(separator: " ")) failed: \(words)")
        }
        return result.standardOutput
    }
}
