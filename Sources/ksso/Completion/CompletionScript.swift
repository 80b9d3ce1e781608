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
        case .bash: generated.replacing("complete -o filenames -F _ksso ksso", with: Self.bashEntry)
        case .zsh: generated.replacing("'*:command:'", with: Self.zshCommand)
        case .fish: generated + "\n" + Self.fishCommand
        default: generated
        }
    }

    /// Completes the command of `ksso exec` as zsh completes any other command. zsh passes it a leading `--` too.
    private static let zshCommand = #"'*:: :{[[ "${words[1]}" != -- ]] || { shift words; (( CURRENT-- )) }; _normal}'"#

    /// Completes the command of `ksso exec` with fish's own completions for it.
    private static let fishCommand = """
        complete -c 'ksso' -n '__fish_seen_subcommand_from exec' -fka '(__fish_complete_subcommand --fcs-skip=2)'
        """

    /// bash splits words at the characters in COMP_WORDBREAKS, such as the colon of a URL and the @ of a principal, and replaces only the
    /// last part. The generated function expects whole words, and does not complete the command that `ksso exec` runs.
    private static let bashEntry = #"""
        # Completes the words of ksso. Joins the words that bash has split at : @ and =, and completes the command that ksso runs as bash
        # completes any other command.
        __ksso_complete_line() {
            local -a words=() starts=()
            local -i index last=-1 current=0 first=0
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
            # bash would write the @ of a principal as \@, because it quotes the characters of a file name.
            [[ "${COMPREPLY[0]-}" != *@* || -e "${COMPREPLY[0]}" ]] || compopt +o filenames 2>/dev/null
        }

        complete -o filenames -F __ksso_complete_line ksso
        """#
}
