import BenchmarkSupport
import Foundation

/// The programs that are compared.
struct Programs: Sendable {
    /// The path of the measured program.
    let ksso: String
    fileprivate let px: Result<PythonEnvironment, Unavailable>
    fileprivate let relays: Result<UnpackedPrograms, Unavailable>

    /// Downloads the peers on the first run.
    static func install(ksso: String) async -> Programs {
        let px = await PythonEnvironment.install("px", packages: ["px-proxy==0.13.0"], modules: ["px", "mcurl"])
        return Programs(ksso: ksso, px: px, relays: await UnpackedPrograms.unpack(["cntlm", "socat", "libwrap0"]))
    }
}

/// Programs of Debian's packages, which are not installed.
private struct UnpackedPrograms: Sendable {
    let folder, libraries: String

    /// The command line of a program.
    func command(_ path: String, _ arguments: [String]) -> [String] {
        ["/usr/bin/env", "LD_LIBRARY_PATH=\(libraries)", "\(folder)/\(path)"] + arguments
    }

    static func unpack(_ packages: [String]) async -> Result<UnpackedPrograms, Unavailable> {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let folder = sources.deletingLastPathComponent().appending(path: ".build/relays").path
        let script = Bundle.module.path(forResource: "unpack", ofType: "sh") ?? "unpack.sh"
        do {
            let output = try await PythonEnvironment.run("/bin/sh", [script, folder] + packages)
            return .success(UnpackedPrograms(folder: folder, libraries: output.trimmingCharacters(in: .whitespacesAndNewlines)))
        } catch {
            return .failure(Unavailable(reason: "\(error)"))
        }
    }
}

/// A program that forwards requests or opens tunnels.
struct RelayProgram: Sendable {
    let name: String
    /// Whether its clients open a tunnel with CONNECT.
    var needsConnect = true
    /// Returns the command line for a port at which the program listens.
    ///
    /// - Throws: ``Unavailable`` if the program cannot be measured.
    let command: @Sendable (_ port: Int) throws -> [String]
}

extension Bench {
    static let ours = "ours"
    static let px = "px 0.13"
    static let cntlm = "cntlm 0.92"
    static let socat = "socat"
    static let socatLargeBuffer = "socat -b 65536"

    /// This package's proxy, directly or through the squid.
    func ours(throughSquid: Bool) throws -> RelayProgram {
        let profile = "\(realm.directory)/proxy.yaml"
        let text = """
            ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension
            Type: Credential
            Realm: \(realm.name)
            Hosts: [localhost]
            PlainHTTPHosts: [localhost]
            ProxyHosts: [localhost]

            """
        try text.write(toFile: profile, atomically: true, encoding: .utf8)
        let route = throughSquid ? ["--upstream", "localhost:\(squid.port)"] : []
        return RelayProgram(name: Self.ours) { [directory = realm.directory, ksso = programs.ksso] port in
            // Each proxy has a directory of its own, as that of another user.
            let variables = ["KSSO_PROFILE=\(profile)", "KSSO_RUNTIME_DIR=\(directory)/run-\(port)"]
            return ["/usr/bin/env"] + variables + [ksso, "proxy", "run", "--listen", "127.0.0.1:\(port)"] + route
        }
    }

    /// px closes a tunnel that is idle for 30 seconds by default.
    func px(throughSquid: Bool) -> RelayProgram {
        let route = throughSquid ? ["--proxy=localhost:\(squid.port)", "--auth=NEGOTIATE"] : []
        return RelayProgram(name: Self.px) { [px = programs.px] port in
            [try px.get().python, "-m", "px", "--port=\(port)", "--idle=600"] + route
        }
    }

    /// It answers NTLM only, so that it opens direct tunnels here; the parent proxy is not used.
    func cntlm() -> RelayProgram {
        RelayProgram(name: Self.cntlm) { [relays = programs.relays] port in
            let options = ["-f", "-c", "/dev/null", "-u", "alice@EXAMPLE", "-p", "secret", "-N", "*", "-l", "127.0.0.1:\(port)"]
            return try relays.get().command("usr/sbin/cntlm", options + ["127.0.0.1:9"])
        }
    }

    func socat(bufferSize: Int? = nil) -> RelayProgram {
        let name = bufferSize == nil ? Self.socat : Self.socatLargeBuffer
        return RelayProgram(name: name, needsConnect: false) { [relays = programs.relays, targetPort] port in
            let addresses = ["TCP-LISTEN:\(port),bind=127.0.0.1,fork,reuseaddr,backlog=1024", "TCP:127.0.0.1:\(targetPort)"]
            return try relays.get().command("usr/bin/socat", (bufferSize.map { ["-b", "\($0)"] } ?? []) + addresses)
        }
    }
}
