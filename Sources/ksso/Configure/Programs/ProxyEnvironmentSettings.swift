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
            return SettingsFinding(.contradicts, "\(name) is \(found) in this session: log in again, or find what sets it")
        }
        findings += otherLines
        if let proxy = await GitSettings(context).proxy, proxy != client.url {
            let text =
                "http.proxy of git is \(proxy), which has precedence over http_proxy: find it with: git config --show-origin http.proxy"
            findings.append(SettingsFinding(.contradicts, text))
        }
        return findings
    }

    /// Lines of others that name another proxy, in the files of the login shell and of systemd's user manager. The last line has precedence.
    private var otherLines: [SettingsFinding] {
        let paths = files().map(\.path)
        let folder = paths[0].split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        let siblings = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { $0.hasSuffix(".conf") }.sorted()
        let proxies = Set(client.variables.map(\.value))
        return (siblings.map { "\(folder)/\($0)" } + paths.dropFirst()).withoutRepetitions.flatMap { path -> [SettingsFinding] in
            let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            return text.split(separator: "\n").compactMap { line in
                guard let match = line.wholeMatch(of: /\s*(?:export\s+)?(?i:https?)_(?i:proxy)=["']?([^"'\s]*).*/),
                    !proxies.contains(String(match.1))
                else { return nil }
                return SettingsFinding(.contradicts, "\(path) has the line “\(line)”, which may have precedence: remove it")
            }
        }
    }
}
