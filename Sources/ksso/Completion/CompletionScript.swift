internal import ArgumentParser
internal import Foundation

/// The script by which a shell completes the words of `ksso`: the generated one, with what the generator does not provide.
struct CompletionScript {
    private static let option = "--generate-completion-script"

    let shell: CompletionShell

    /// Returns nil unless the arguments request the script of a supported shell.
    init?(arguments: [String]) {
        guard let first = arguments.first, first.hasPrefix(Self.option) else { return nil }
        let name = first == Self.option ? arguments.dropFirst().first : String(first.dropFirst(Self.option.count + 1))
        guard let shell = name.map(CompletionShell.init(rawValue:)) ?? CompletionShell.autodetected() else { return nil }
        self.shell = shell
    }

    var text: String {
        let generated = KSSOCommand.completionScript(for: shell)
        return switch shell {
        case .bash: Self.bash(generated)
        case .zsh: Self.zsh(generated)
        case .fish: Self.fish(generated)
        default: generated
        }
    }

    private static func zsh(_ generated: String) -> String {
        generated.replacing("'*:command:'", with: zshCommand)
            .replacing(/'\*:arguments:\{(__ksso_custom_complete ---completion realm [^\n]*)\}'/) { match in
                "'*:arguments:\(zshRealm(elsewhere: match.output.1))'"
            }
            // Without the backslash, a candidate such as a URL ends at its colon.
            .replacing(#"__ksso_complete "${completions[@]:0:-1}""#, with: #"__ksso_complete "${(@)completions[1,-2]//:/\\:}""#)
            // An option with a value also accepts it in the same word: --realm=CORP.EXAMPLE.
            .replacing(/('\*?--[a-z-]+)(\[(?:[^\]\\]|\\.)*\]:)/) { "\($0.output.1)=\($0.output.2)" }
    }

    /// Completes the command of `ksso exec` as zsh completes any other command. zsh passes it a leading `--` too.
    private static let zshCommand = #"'*:: :{[[ "${words[1]}" != -- ]] || { shift words; (( CURRENT-- )) }; _normal}'"#

    /// Completes the command after `ksso realm run … --` in the same way.
    private static func zshRealm(elsewhere completion: Substring) -> String {
        #"{local -i end="${words[(i)--]}"; if (( end < CURRENT )) { words=("${(@)words[end+1,-1]}"); (( CURRENT -= end )); _normal } "#
            + "else { \(completion) }}"
    }

    /// The generated function for files with some suffixes does not expand `~` and variables.
    private static func fish(_ generated: String) -> String {
        let files = /\(set -l exts \\'mobileconfig\\'.*?\(commandline -t\) \\'\\'\)/
        return generated.replacing(files, with: "(__ksso_profiles)") + "\n" + fishFunctions
    }

    /// Completes profiles, and the commands of `ksso exec` and `ksso realm run` with fish's own completions for them.
    private static let fishFunctions = #"""
        function __ksso_profiles
            complete -C "'' $(commandline -ct)" | string match -r '^.*(?:/|\.(?:mobileconfig|yaml|yml))(?:\t.*)?$'
        end

        function __ksso_words_after -a place
            set -l words (commandline -opc)
            complete -C (string join ' ' -- (string escape -- $words[$place..-1]) (commandline -ct))
        end

        function __ksso_exec_command
            set -l words (commandline -opc)
            set -l place 3
            set -l end (math (count $words) + 1)
            while test $place -lt $end
                switch $words[$place]
                    case --
                        __ksso_words_after (math $place + 1)
                        return
                    case --profile
                        set place (math $place + 2)
                    case '-*'
                        set place (math $place + 1)
                    case '*'
                        break
                end
            end
            if test $place -lt $end || test $place -eq $end && not string match -q -- '-*' (commandline -ct)
                __ksso_words_after $place
            end
        end

        complete -c 'ksso' -n 'test "$(commandline -opc)[2]" = exec' -fka '(__ksso_exec_command)'
        complete -c 'ksso' -n 'test "$(commandline -opc)[2]" = realm; and contains -- -- (commandline -opc)' \
            -fka '(__ksso_words_after (math (contains -i -- -- (commandline -opc)) + 1))'
        """#

    private static func bash(_ generated: String) -> String {
        generated.replacing("complete -o filenames -F _ksso ksso", with: bashEntry)
            .replacing("__ksso_add_completions() {\n", with: "__ksso_add_completions() {\n    [[ \"${1}\" == -[Wc] ]] || are_files=1\n")
    }

    /// bash splits words at the characters in COMP_WORDBREAKS, such as the colon of a URL and the @ of a principal, and replaces only the
    /// last part. The generated function expects whole words, and does not complete the command that `ksso exec` runs.
    private static let bashEntry = #"""
        # Completes the words of ksso. Joins the words that bash has split at : @ and =, and completes the command that ksso runs as bash
        # completes any other command.
        __ksso_complete_line() {
            local -a words=() starts=()
            local -i index last=-1 current=0 first=0 are_files=0
            local cur="" kept="" rest="${COMP_LINE}" word blank before
            for index in "${!COMP_WORDS[@]}"; do
                word="${COMP_WORDS[index]}"
                blank="${rest%%[![:space:]]*}"
                rest="${rest#"${blank}"}"
                rest="${rest#"${word}"}"
                before=""
                if [[ last -ge 0 && -z "${blank}" && ("${word}" == [@:=]* || "${words[last]}" == *[@:=]) ]]; then
                    before="${words[last]}"
                    words[last]+="${word}"
                else
                    words+=("${word}")
                    starts+=("${index}")
                    last+=1
                fi
                if [[ index -eq COMP_CWORD ]]; then
                    current=last
                    # What bash will replace is $2, which may include the separator. The cursor may be within the word.
                    [[ "${words[last]}" != *"${2}" ]] || before="${words[last]%"${2}"}"
                    kept="${before}"
                    cur="${before}${2}"
                fi
            done

            case "${words[1]-}" in
            exec)
                for ((index = 2; index <= last; index++)); do
                    case "${words[index]}" in
                    --)
                        first=index+1
                        break
                        ;;
                    --profile)
                        index+=1
                        ;;
                    -*) ;;
                    *)
                        first=index
                        break
                        ;;
                    esac
                done
                ;;
            realm)
                for ((index = 2; index <= last; index++)); do
                    [[ "${words[index]}" != -- ]] || { first=index+1; break; }
                done
                ;;
            esac
            if [[ first -gt 0 && current -ge first ]]; then
                if declare -F _comp_command_offset >/dev/null; then
                    _comp_command_offset "${starts[first]}"
                    return
                elif declare -F _command_offset >/dev/null; then
                    _command_offset "${starts[first]}"
                    return
                elif [[ current -eq first && "${cur}" != */* ]]; then
                    __ksso_add_completions -c
                else
                    __ksso_add_completions -f
                fi
            else
                if [[ "${cur}" == --*=* ]]; then
                    words=("${words[@]:0:current}" "${cur%%=*}" "${cur#*=}")
                    current+=1
                    kept="${kept#*=}"
                    cur="${cur#*=}"
                fi
                local -a COMP_WORDS=("${words[@]}")
                local -i COMP_CWORD=current
                _ksso "${1}" "${cur}" "${words[current - 1]}"
            fi

            COMPREPLY=("${COMPREPLY[@]#"${kept}"}")
            # A value follows: error=29.
            [[ ${#COMPREPLY[@]} -ne 1 || "${COMPREPLY[0]}" != *= ]] || compopt -o nospace 2>/dev/null
            # bash would write the @ of a principal as \@, and a slash after a subcommand if a folder has the same name.
            ((are_files)) || [[ "${words[1]-}" == realm && "${words[current - 1]-}" == -* && -e "${COMPREPLY[0]-}" ]] || compopt +o filenames 2>/dev/null
        }

        complete -o filenames -F __ksso_complete_line ksso
        """#
}
