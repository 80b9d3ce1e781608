internal import CommandSupport
internal import Foundation
internal import SystemSupport

/// The variables by which most programs find a proxy.
struct ProxyEnvironmentSettings: ProgramSettings {
    let context: SettingsContext

    let name = "the environment's proxy"
    let word = "proxy-env"

    private var client: ProxyClient { ProxyClient(context: context) }

    func files() -> [any SettingsFile] { marked }

    private var marked: [MarkedFile] {
        if context.isMachine {
            return [
                assignments("/etc/environment.d/61-ksso-proxy.conf"), exports("/etc/profile.d/ksso-proxy.sh", isOursAlone: true),
            ]
        }
        return [
            assignments("\(context.settingsFolder)/environment.d/61-ksso-proxy.conf"),
            exports(LoginProfile(environment: context.environment).path, isOursAlone: false),
        ]
    }

    func formerFiles() throws(CommandFailure) -> [any SettingsFile] {
        if context.isMachine { return files() }
        return [files()[0]] + LoginProfile(environment: context.environment).allPaths.map { exports($0, isOursAlone: false) }
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
        var findings = client.variables.compactMap { name, value -> SettingsFinding? in
            guard let found = context.environment[name], found != value else { return nil }
            // The value may contain a password.
            return SettingsFinding(.contradicts, "\(name) has another value in this session: log in again, or find what sets it")
        }
        findings += otherFiles.map {
            SettingsFinding(.contradicts, "\($0) names another proxy, and is read after the lines of ksso: remove its setting")
        }
        if let proxy = await GitSettings(context).proxy, !isOurs(proxy) {
            let text = "http.proxy of git names another proxy, which has precedence: find it with: git config --show-origin http.proxy"
            findings.append(SettingsFinding(.contradicts, text))
        }
        return findings
    }

    /// The files with another proxy that are read after ours, or below our lines. Their values may contain passwords.
    private var otherFiles: [String] {
        let below = marked.filter { $0.laterLines.contains(where: namesOtherProxy) }.map(\.path)
        let later = marked.filter(\.isOursAlone).flatMap { file -> [String] in
            let url = URL(fileURLWithPath: file.path)
            let folder = url.deletingLastPathComponent().path
            let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
            return names.filter { $0 > url.lastPathComponent && $0.hasSuffix(".\(url.pathExtension)") }.map { "\(folder)/\($0)" }
        }
        return below
            + later.filter { path in
                let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
                return text.components(separatedBy: "\n").contains(where: namesOtherProxy)
            }
    }

    private func namesOtherProxy(_ line: String) -> Bool {
        guard let match = line.wholeMatch(of: /\s*(?:export\s+)?(?i:https?_proxy)=["']?([^"'\s]*).*/) else { return false }
        return !isOurs(String(match.1))
    }

    private func isOurs(_ proxy: String) -> Bool {
        let address = proxy.hasPrefix("http://") ? String(proxy.dropFirst("http://".count)) : proxy
        return address == context.proxy || address == "\(context.proxy)/"
    }
}
