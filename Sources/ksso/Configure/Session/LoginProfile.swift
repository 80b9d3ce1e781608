internal import Foundation
internal import SystemSupport

/// The file that a user's login shell reads, and the lines in it that start the agent and direct programs to its caches.
struct LoginProfile {
    private let environment: [String: String]
    private let home: String
    private let shell: String

    init(environment: [String: String]) {
        self.environment = environment
        home = environment["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? NSHomeDirectory()
        shell = URL(fileURLWithPath: environment["SHELL"] ?? "/bin/sh").lastPathComponent
    }

    /// The folder of the user's settings.
    var settingsFolder: String { environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "\(home)/.config" }

    /// The file that the user's login shell reads: for bash, the first one that exists.
    var path: String {
        switch shell {
        case "zsh": return "\(environment["ZDOTDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home)/.zprofile"
        case "fish": return fishPath
        case "bash":
            let names = [".bash_profile", ".bash_login", ".profile"]
            return "\(home)/\(names.first { access("\(home)/\($0)", F_OK) == 0 } ?? ".profile")"
        default: return "\(home)/.profile"
        }
    }

    /// The files of all login shells.
    var allPaths: [String] {
        let folders = [home] + [environment["ZDOTDIR"]].compactMap { $0 }.filter { $0.hasPrefix("/") && $0 != home }
        return [".profile", ".bash_profile", ".bash_login"].map { "\(home)/\($0)" } + folders.map { "\($0)/.zprofile" } + [fishPath]
    }

    private var fishPath: String { "\(settingsFolder)/fish/conf.d/ksso.fish" }

    /// The lines for the user's login shell.
    ///
    /// Another user can create a link in /tmp to a folder of this user, which `test -O` would accept, and replace the link later. The lines
    /// follow the rules of ``SSOAgentClient/RuntimeDirectory``.
    ///
    /// - Parameters:
    ///   - program: The path of `ksso`.
    ///   - startsAgent: Whether the login starts the agent. Otherwise systemd listens, and the status request starts the agent, which then
    ///     writes its krb5.conf.
    func lines(calling program: String, startsAgent: Bool) -> String {
        let name = shellWord(program)
        let start = "\(name) \(startsAgent ? Self.verbs[0] : Self.verbs[1])"
        return shell == "fish" ? Self.fish(name, start) : Self.posix(name, start)
    }

    private static let verbs = ["agent run --background", "agent status"]

    /// The path of the program that such lines call.
    static func calledProgram(_ lines: [String]) -> String? {
        lines.lazy.compactMap { line in
            for verb in verbs {
                guard let range = line.range(of: " \(verb) >/dev/null") else { continue }
                let word = line[..<range.lowerBound].trimmingCharacters(in: .whitespaces)
                return word.trimmingCharacters(in: ["'"]).replacing("'\\''", with: "'")
            }
            return nil
        }.first
    }

    /// Lines for POSIX sh with `test -O`, which every such shell supports.
    private static func posix(_ name: String, _ start: String) -> String {
        return """
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
            if [ -r "$ksso_runtime/krb5.conf" ] && [ -O "$ksso_runtime" ] && [ -O "$ksso_runtime/krb5.conf" ] &&
                [ ! -h "$ksso_runtime" ] && [ ! -h "$ksso_runtime/krb5.conf" ]; then
                # Of ksso env, the name means the agent's own caches.
                case ":${KRB5_CONFIG-}:${KRB5CCNAME-}" in *":$ksso_runtime/krb5"*:KCM:*) unset KRB5CCNAME ;; esac
                case ":${KRB5_CONFIG-}:" in
                    *":$ksso_runtime/krb5.conf:"*) ;;
                    *) KRB5_CONFIG=$ksso_runtime/krb5.conf:${KRB5_CONFIG:-/etc/krb5.conf} ;;
                esac
                export KRB5_CONFIG
                # What the login itself acquired, by PAM or ssh, goes to the agent; otherwise it stays in use.
                case ${KRB5CCNAME-} in
                    "") unset KRB5CCNAME ;;
                    KCM:*) \(name) agent import >/dev/null 2>&1 || :; unset KRB5CCNAME ;;
                    *) if \(name) agent import >/dev/null 2>&1; then unset KRB5CCNAME; fi ;;
                esac
            fi
            unset ksso_runtime

            """
    }

    /// The same for fish, which reads this file in every shell, and has no POSIX syntax.
    private static func fish(_ name: String, _ start: String) -> String {
        """
        if status is-login
            \(start) >/dev/null 2>&1
            set -l ksso_runtime "$KSSO_RUNTIME_DIR"
            if not string match -q '/*' -- "$ksso_runtime"; and test -n "$XDG_RUNTIME_DIR"
                set ksso_runtime "$XDG_RUNTIME_DIR/ksso"
            end
            if not string match -q '/*' -- "$ksso_runtime"
                set ksso_runtime /run/user/(id -u)
                if test -w $ksso_runtime
                    set ksso_runtime $ksso_runtime/ksso
                else
                    set ksso_runtime /tmp/ksso-(id -u)
                end
            end
            if test -r "$ksso_runtime/krb5.conf" -a -O "$ksso_runtime" -a -O "$ksso_runtime/krb5.conf"
                and not test -h "$ksso_runtime" -o -h "$ksso_runtime/krb5.conf"
                # Of ksso env, the name means the agent's own caches.
                string match -q -- "*:$ksso_runtime/krb5*:KCM:*" ":$KRB5_CONFIG:$KRB5CCNAME"; and set -e KRB5CCNAME
                if not contains -- "$ksso_runtime/krb5.conf" (string split : -- "$KRB5_CONFIG")
                    test -n "$KRB5_CONFIG"; or set -l KRB5_CONFIG /etc/krb5.conf
                    set -gx KRB5_CONFIG "$ksso_runtime/krb5.conf:$KRB5_CONFIG"
                end
                # What the login itself acquired, by PAM or ssh, goes to the agent; otherwise it stays in use.
                switch "$KRB5CCNAME"
                    case ''
                        set -e KRB5CCNAME
                    case 'KCM:*'
                        \(name) agent import >/dev/null 2>&1
                        set -e KRB5CCNAME
                    case '*'
                        \(name) agent import >/dev/null 2>&1; and set -e KRB5CCNAME
                end
            end
        end

        """
    }
}
