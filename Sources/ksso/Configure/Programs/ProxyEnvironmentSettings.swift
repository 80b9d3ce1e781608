internal import CommandSupport
internal import Foundation
internal import SystemSupport

/// The variables by which most programs find a proxy.
struct ProxyEnvironmentSettings: ProgramSettings {
    let context: SettingsContext

    let name = "the environment's proxy"
    let word = "proxy-env"

    private var client: ProxyClient { ProxyClient(context: context) }

    func files() -> [any SettingsFile] {
        if context.isMachine {
            return [
                assignments("/etc/environment.d/61-ksso-proxy.conf"), exports("/etc/profile.d/ksso-proxy.sh", isOursAlone: true),
            ]
        }
        return [
            assignments("\(context.settingsFolder)/environment.d/61-ksso-proxy.conf"),
            exports(SessionSetUp.profilePath(home: context.home, environment: context.environment), isOursAlone: false),
        ]
    }

    func formerFiles() throws(CommandFailure) -> [any SettingsFile] {
        if context.isMachine { return files() }
        let profiles = SessionSetUp.profilePaths(environment: context.environment)
        return [files()[0]] + profiles.map { exports($0, isOursAlone: false) }
    }

    /// A file for systemd's user manager (environment.d(5)).
    private func assignments(_ path: String) -> MarkedFile {
        MarkedFile(
            path: path,
            lines: client.variables.map { "\($0.name)=\($0.value)\n" }.joined(),
            marks: context.marks(word),
            isOursAlone: true,
            mode: context.fileMode
        )
    }

    /// Lines for login shells.
    private func exports(_ path: String, isOursAlone: Bool) -> MarkedFile {
        MarkedFile(
            path: path,
            lines: client.variables.map { "export \($0.name)=\(shellQuoted($0.value))\n" }.joined(),
            marks: context.marks(word),
            isOursAlone: isOursAlone,
            mode: context.fileMode
        )
    }

    var notes: [String] { [client.note] }

    var afterward: String? { "Log in again; for this shell, run: eval \"$(ksso configure proxy-env)\"" }

    func contradictions() async -> [SettingsFinding] {
        client.variables.compactMap { name, value in
            guard let found = context.environment[name], found != value else { return nil }
            return SettingsFinding(.contradicts, "\(name) is \(found) in this session: log in again, or find what sets it")
        }
    }
}
