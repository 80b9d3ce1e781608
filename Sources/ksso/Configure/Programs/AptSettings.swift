internal import CommandSupport
internal import Foundation
internal import Subprocess

/// The proxy of apt.
struct AptSettings: ProgramSettings {
    let context: SettingsContext

    let name = "apt"
    let word = "apt"
    let isMachineWide = true

    private let path = "/etc/apt/apt.conf.d/90ksso-proxy"

    func files() -> [any SettingsFile] {
        [
            MarkedFile(
                path: path,
                lines: settings.map { "\($0.name) \"\($0.value)\";\n" }.joined(),
                marks: context.marks(word, comment: "//"),
                isOursAlone: true,
                mode: AtomicFile.machineMode
            )
        ]
    }

    private var settings: [(name: String, value: String)] {
        let client = ProxyClient(context: context)
        // apt knows hosts only; it reads the other forms of exceptions from no_proxy.
        let hosts = client.exceptions.filter { $0.wholeMatch(of: /(?:[A-Za-z0-9][A-Za-z0-9.\-]*)/) != nil }
        return ["http", "https"].flatMap { scheme in
            let name = "Acquire::\(scheme)::Proxy"
            return [(name: name, value: "\(client.url)/")] + hosts.map { (name: "\(name)::\($0)", value: "DIRECT") }
        }
    }

    var notes: [String] {
        let client = ProxyClient(context: context)
        return [client.note, client.note(of: "apt", connectingAs: "_apt")]
    }

    func contradictions() async -> [SettingsFinding] {
        guard access(path, F_OK) == 0, context.hasProgram("apt-config") else { return [] }
        let result = try? await Subprocess.run(
            .name("apt-config"),
            arguments: ["dump", "--format", "%f %v%n", "Acquire"],
            input: .none,
            output: .string(limit: 1 << 16),
            error: .discarded
        )
        let lines = (result?.standardOutput ?? "").split(separator: "\n").map { $0.split(separator: " ", maxSplits: 1).map(String.init) }
        return settings.filter { $0.name.hasSuffix("::Proxy") }.compactMap { name, value in
            guard let found = lines.last(where: { $0[0].lowercased() == name.lowercased() && $0.count > 1 })?[1], found != value else {
                return nil
            }
            // The value may contain a password.
            let search = "grep -r Proxy /etc/apt/apt.conf.d /etc/apt/apt.conf"
            let text = "\(name) names another proxy, because a later file sets it: find it with: \(search)"
            return SettingsFinding(.contradicts, text)
        }
    }
}
