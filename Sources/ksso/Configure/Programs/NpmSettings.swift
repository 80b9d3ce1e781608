internal import CommandSupport
internal import Foundation
internal import Subprocess
internal import SystemPackage

/// The proxy of npm.
struct NpmSettings: ProgramSettings {
    let context: SettingsContext
    /// The file for all users, which depends on how npm was installed.
    private let machinePath: String

    let name = "npm"
    let word = "npm"

    /// Where installations of npm have the file for all users.
    static let usualMachinePaths = ["/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc"]

    init(_ context: SettingsContext) async {
        let path = context.isMachine ? await Self.globalFile(context) : nil
        self.init(context, machinePath: path ?? Self.usualMachinePaths[0])
    }

    init(_ context: SettingsContext, machinePath: String) {
        self.context = context
        self.machinePath = machinePath
    }

    func files() -> [any SettingsFile] {
        let client = ProxyClient(context: context)
        return [
            TextSettingsFile(
                path: path,
                settings: [("proxy", client.url), ("https-proxy", client.url), ("noproxy", client.exceptionList)],
                separator: "=",
                marks: context.marks(word),
                mode: context.fileMode
            )
        ]
    }

    private var path: String {
        if context.isMachine { return machinePath }
        let named = context.environment["NPM_CONFIG_USERCONFIG"] ?? context.environment["npm_config_userconfig"]
        return named.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "\(context.home)/.npmrc"
    }

    var notes: [String] { [ProxyClient(context: context).note] }

    private static func globalFile(_ context: SettingsContext) async -> String? {
        guard context.hasProgram("npm") else { return nil }
        // Without the settings of the working directory and of the caller's environment, which could name any file for root to write.
        let result = try? await Subprocess.run(
            .name("npm"),
            arguments: ["config", "get", "globalconfig"],
            environment: .custom([
                "PATH": context.environment["PATH"] ?? "/usr/bin:/bin", "HOME": context.home, "npm_config_userconfig": "/dev/null",
                "npm_config_logs_max": "0",
            ]),
            workingDirectory: "/",
            input: .none,
            output: .string(limit: 4096),
            error: .discarded
        )
        let path = result?.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)
        return path.flatMap { $0.hasPrefix("/") && $0.hasSuffix("/etc/npmrc") ? $0 : nil }
    }
}
