internal import CommandSupport
internal import Foundation

/// The proxy of pip.
struct PipSettings: ProgramSettings {
    let context: SettingsContext

    let name = "pip"
    let word = "pip"

    func files() -> [any SettingsFile] {
        [
            TextSettingsFile(
                path: path,
                settings: [("proxy", ProxyClient(context: context).url)],
                separator: " = ",
                marks: context.marks(word),
                section: "[global]",
                mode: context.fileMode
            )
        ]
    }

    private var path: String { context.isMachine ? "/etc/pip.conf" : "\(context.settingsFolder)/pip/pip.conf" }

    var notes: [String] {
        [ProxyClient(context: context).note, "pip has no setting for exceptions: it uses the proxy for every host."]
    }

    func contradictions() async -> [SettingsFinding] {
        let former = "\(context.home)/.pip/pip.conf"
        var findings: [SettingsFinding] = []
        // The values may contain passwords.
        if !context.isMachine, Self.hasProxy(former) {
            findings.append(SettingsFinding(.contradicts, "\(former) names a proxy, and pip may use it: remove its line proxy"))
        }
        if let value = context.environment["PIP_PROXY"], value != ProxyClient(context: context).url {
            findings.append(SettingsFinding(.contradicts, "PIP_PROXY names another proxy, which has precedence: unset it"))
        }
        return findings
    }

    private static func hasProxy(_ path: String) -> Bool {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").contains { $0.wholeMatch(of: /\s*proxy\s*[=:].*/) != nil }
    }
}
