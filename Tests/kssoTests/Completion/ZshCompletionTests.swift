import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The candidates that an interactive zsh gets from the script of `ksso --generate-completion-script zsh`.
@Suite(
    .testRealm(users: ["alice": "secret"]),
    .timeLimit(.minutes(5)),
    .enabled(if: StockProgram.isInstalled("zsh"), "zsh is missing: package zsh")
)
struct ZshCompletionTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install(profile(hosts: ["intranet.corp.test"], data: ["principalName: carol"]))
        try station.write(Self.settings, to: ".zshrc")
    }

    /// Completes the line of the variable LINE as soon as zsh edits one, and writes the candidates to a file.
    private static let settings = """
        fpath=($HOME/functions $fpath)
        autoload -Uz compinit
        compinit -u -D
        compadd() {
            local -a found
            # Some calls only look for candidates.
            if [[ ${argv[1,(i)(-|--)]} == *-[OAD]* ]]; then builtin compadd "$@"; return; fi
            builtin compadd -A found "$@"
            print -rl -- $found >>$HOME/candidates
            builtin compadd "$@"
        }
        complete() { _main_complete; compstate[insert]= compstate[list]= }
        zle -C record complete-word complete
        zle-line-init() { BUFFER=$LINE; CURSOR=$#BUFFER; zle record; exit }
        zle -N zle-line-init

        """

    /// The candidates for the end of a line, in order. zsh completes only on a terminal.
    private func candidates(_ line: String) async throws -> [String] {
        let script = """
            mkdir -p $HOME/functions; rm -f $HOME/candidates; cd $HOME
            ksso --generate-completion-script zsh >$HOME/functions/_ksso
            zmodload zsh/zpty
            zpty shell zsh -d -i
            while zpty -r shell output; do :; done
            [[ -e $HOME/candidates ]] && sort -u $HOME/candidates || :
            """
        let environment = ["LINE": line, "ZDOTDIR": station.directory]
        let result = try await station.run(["zsh", "-f", "-c", script], environment: environment)
        #expect(result.exitStatus == 0 && result.errors == "", "\(result)")
        return result.output.split(whereSeparator: \.isWhitespace).map(String.init).sorted()
    }

    @Test(
        arguments: [
            ("ksso logi", ["login"]), ("ksso login ", ["alice@EXAMPLE.TEST", "carol@EXAMPLE.TEST"]),
            ("ksso switch a", ["alice@EXAMPLE.TEST"]), ("ksso logout --realm E", ["EXAMPLE.TEST"]),
            ("ksso explain in", ["intranet.corp.test"]), ("ksso realm kdc s", ["start", "stop"]), ("ksso realm run --us", ["--user"]),
            ("ksso setup corp", ["corp.yaml"]), ("ksso exec -- klis", ["klist"]), ("ksso exec klis", ["klist"]),
            ("ksso exec cat lett", ["letter.txt"]), ("ksso fetch h", ["https://intranet.corp.test"]),
            ("ksso explain http://in", ["http://intranet.corp.test"]), ("ksso login --realm=E", ["EXAMPLE.TEST"]),
            ("ksso env --shell=f", ["fish"]), ("ksso realm run --web -- klis", ["klist"]), ("ksso realm run -- cat lett", ["letter.txt"]),
            ("ksso realm run --file=cor", ["--file=corp.yaml"]), ("ksso realm kdc stop s", []),
            ("ksso realm fault --realm X d", ["delay=", "drop", "drop-reply"]),
            ("ksso realm run --fault=dro", ["--fault=drop", "--fault=drop-reply"]),
        ] as [(String, [String])]
    )
    func `zsh completes commands, names, files and the command of ksso exec`(line: String, expected: [String]) async throws {
        try await station.signIn()
        for name in ["corp.yaml", "letter.txt"] { try station.write("", to: name) }
        #expect(try await candidates(line) == expected)
    }

    /// zsh inserts a candidate with its special characters quoted.
    @Test func `no candidate is executed`() async throws {
        let name = "$(>executed)`>executed`"
        try station.install(profile(hosts: ["other.test"], data: ["principalName: '\(name)'"]), as: "second.yaml")
        #expect(try await candidates("ksso login ") == [#"\$\(\>executed\)\`\>executed\`@EXAMPLE.TEST"#, "carol@EXAMPLE.TEST"])
        #expect(!FileManager.default.fileExists(atPath: "\(station.directory)/executed"))
    }
}
