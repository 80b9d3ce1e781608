import BenchmarkSupport
import Foundation

/// requests-gssapi and httpx-gssapi, in their own Python environment below `.build`.
struct PythonPeers: Sendable {
    static let packages = ["requests-gssapi==1.4.0", "httpx-gssapi==0.6"]

    let python: String

    /// Creates the Python environment on the first run, which requires the network, a C compiler and the headers of Python and Kerberos.
    static func install() async -> Result<PythonPeers, Unavailable> {
        await PythonEnvironment.install("peers", packages: packages, modules: ["requests_gssapi", "httpx_gssapi"])
            .map { PythonPeers(python: $0.python) }
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
}
