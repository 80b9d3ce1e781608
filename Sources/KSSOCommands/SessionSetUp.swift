internal import Foundation
internal import SSOAgentClient

/// The two places from which the programs of a session have their environment: systemd's for users, which graphical programs and services
/// have, and the profile of the login shell.
struct SessionSetUp {
    /// Read by `systemd --user` (environment.d(5)).
    let environmentFile: SessionFile
    /// Read by the login shell.
    let profile: SessionFile
    /// Whether systemd starts the agent.
    let hasUnits: Bool
    let environment: [String: String]

    static let unit = "ksso-agent.socket"

    /// What no environment reaches.
    static let limits = """
        These can't share the tickets: setuid programs, since libkrb5 heeds no KRB5_CONFIG there; rpc.gssd, for Kerberized NFS, which looks for \
        the system's own caches (ksso agent run --system leaves the tickets there); snaps, which see neither the folder nor the socket. \
        Programs that read caches of the type FILE only, such as Java's and Go's, or that have Heimdal's Kerberos inside, such as samba-tool: \
        ksso exec --file.
        """

    init(environment: [String: String]) async {
        self.environment = environment
        hasUnits = await UserService.isKnown(Self.unit)
        let home = environment["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? NSHomeDirectory()
        let settings = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "\(home)/.config"
        environmentFile = SessionFile(
            path: "\(settings)/environment.d/60-ksso.conf",
            text: Self.environmentText(environment),
            isOursAlone: true
        )
        profile = SessionFile(
            path: Self.profilePath(home: home, environment: environment),
            text: Self.profileText(OwnProgram.name(arguments: CommandLine.arguments, environment: environment), startsAgent: !hasUnits),
            isOursAlone: false
        )
    }

    /// The profile's lines with another name of the program.
    func profile(calling program: String) -> SessionFile {
        SessionFile(path: profile.path, text: Self.profileText(program, startsAgent: !hasUnits), isOursAlone: false)
    }

    /// The program that the profile calls as it is; nil where our lines are not there.
    var calledProgram: String? {
        profile.installedLines?.lazy.compactMap { line in
            for verb in Self.verbs {
                guard let range = line.range(of: " \(verb) >/dev/null") else { continue }
                return String(line[..<range.lowerBound]).trimmingCharacters(in: ["'"]).replacing("'\\''", with: "'")
            }
            return nil
        }.first
    }

    private static let verbs = ["agent run --background", "agent status"]

    private static func environmentText(_ environment: [String: String]) -> String {
        // systemd knows the one variable and not the other.
        let isNamed = environment["KSSO_RUNTIME_DIR"]?.hasPrefix("/") == true
        let runtime = isNamed ? RuntimeDirectory(environment: environment).path.replacing("$", with: "\\$") : "${XDG_RUNTIME_DIR}/ksso"
        return """
            \(SessionFile.begin)
            KRB5_CONFIG=\(runtime)/krb5.conf:${KRB5_CONFIG:-/etc/krb5.conf}
            \(SessionFile.end)

            """
    }

    /// POSIX sh, and `-O`, which every shell has. The same rule as ``SSOAgentClient/RuntimeDirectory``'s.
    private static func profileText(_ program: String, startsAgent: Bool) -> String {
        // Where systemd listens, the question starts the agent, which then writes its krb5.conf.
        let isPlain = program.unicodeScalars.allSatisfy {
            $0.isASCII && ($0.properties.isAlphabetic || "0123456789/._+-".unicodeScalars.contains($0))
        }
        let name = isPlain ? program : shellQuoted(program)
        let start = "\(name) \(startsAgent ? verbs[0] : verbs[1])"
        return """
            \(SessionFile.begin)
            \(start) >/dev/null 2>&1 || :
            ksso_runtime=${KSSO_RUNTIME_DIR-}
            case $ksso_runtime in /*) ;; *) ksso_runtime=${XDG_RUNTIME_DIR:+$XDG_RUNTIME_DIR/ksso} ;; esac
            case $ksso_runtime in
                /*) ;;
                *)
                    ksso_runtime=/run/user/$(id -u)
                    if [ -w "$ksso_runtime" ]; then ksso_runtime=$ksso_runtime/ksso; else ksso_runtime=/tmp/ksso-$(id -u); fi
                    ;;
            esac
            if [ -r "$ksso_runtime/krb5.conf" ] && [ -O "$ksso_runtime" ] && [ -O "$ksso_runtime/krb5.conf" ]; then
                case ":${KRB5_CONFIG-}:" in
                    *":$ksso_runtime/krb5.conf:"*) ;;
                    *) KRB5_CONFIG=$ksso_runtime/krb5.conf:${KRB5_CONFIG:-/etc/krb5.conf} ;;
                esac
                export KRB5_CONFIG
                # What the login itself acquired, by PAM or ssh, goes to the agent; otherwise it stays in use.
                case ${KRB5CCNAME-} in
                    "" | KCM:*) unset KRB5CCNAME ;;
                    *) if \(name) agent import >/dev/null 2>&1; then unset KRB5CCNAME; fi ;;
                esac
            fi
            unset ksso_runtime
            \(SessionFile.end)

            """
    }

    /// The file that the user's login shell reads: bash takes the first one that is there.
    private static func profilePath(home: String, environment: [String: String]) -> String {
        switch URL(fileURLWithPath: environment["SHELL"] ?? "/bin/sh").lastPathComponent {
        case "zsh":
            return "\(environment["ZDOTDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home)/.zprofile"
        case "bash":
            let names = [".bash_profile", ".bash_login", ".profile"]
            return "\(home)/\(names.first { access("\(home)/\($0)", F_OK) == 0 } ?? ".profile")"
        default:
            return "\(home)/.profile"
        }
    }
}
