import Foundation
import KerberosTesting
import KerberosTestingTraits
import SystemSupport
import TestSupport
import Testing

/// The candidates that bash gets from the script of `ksso --generate-completion-script bash`.
@Suite(.testRealm(users: ["alice": "secret"]), .timeLimit(.minutes(5)))
struct BashCompletionTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install(profile(hosts: ["intranet.corp.test", ".corp.test"], data: ["principalName: carol"]))
    }

    /// The words of a line as bash splits them: also at the characters : @ and =.
    private func words(of line: String) -> [String] {
        let words = line.matches(of: /[^\s:@=]+|[:@=]+/).map { String($0.output) }
        return line.hasSuffix(" ") ? words + [""] : words
    }

    /// The end of a line that bash replaces: what follows the last space, colon or equals sign, or begins at the last @.
    private func replaced(in line: String) -> String {
        let word = line[(line.lastIndex(of: " ").map(line.index(after:)) ?? line.startIndex)...]
        guard let place = word.lastIndex(where: ":@=".contains) else { return String(word) }
        return String(word[place] == "@" ? word[place...] : word[word.index(after: place)...])
    }

    /// The candidates for the end of a line, in order.
    private func candidates(_ line: String, shell preparation: String = "", environment: [String: String] = [:]) async throws -> [String] {
        let script = """
            cd "$0"
            source <(ksso --generate-completion-script bash)
            \(preparation)
            COMP_WORDBREAKS=$' \\t\\n"\\'@><=;|&(:'
            COMP_LINE=$1; COMP_POINT=${#COMP_LINE}; current=$2; shift 2
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
            [[ $(complete -p ksso) =~ -F\\ ([^ ]+) ]]
            "${BASH_REMATCH[1]}" ksso "$current" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\\n' "${COMPREPLY[@]}" | sort -u
            """
        let arguments = [station.directory, line, replaced(in: line)] + words(of: line)
        let result = try await station.run(["bash", "-c", script] + arguments, environment: environment)
        #expect(result.exitStatus == 0 && result.errors == "", "\(result)")
        return result.output.split(separator: "\n").map(String.init).sorted()
    }

    @Test func `principals are those of the sessions and profiles`() async throws {
        try await station.signIn()
        #expect(try await candidates("ksso login ") == ["alice@EXAMPLE.TEST", "carol@EXAMPLE.TEST"])
        for command in ["passwd", "agent run --principal"] { #expect(try await candidates("ksso \(command) c") == ["carol@EXAMPLE.TEST"]) }
        for command in ["logout", "refresh", "switch"] { #expect(try await candidates("ksso \(command) ") == ["alice@EXAMPLE.TEST"]) }
        // bash replaces only what begins at the @.
        #expect(try await candidates("ksso switch alice@EX") == ["@EXAMPLE.TEST"])
        #expect(try await candidates("ksso switch alice@") == ["@EXAMPLE.TEST"])
    }

    @Test(arguments: ["login --realm ", "logout --realm EX", "setup --realm E", "doctor EX", "login --realm=EX"])
    func `realms are those of the sessions and profiles`(words: String) async throws {
        #expect(try await candidates("ksso \(words)") == ["EXAMPLE.TEST"])
        let other = try station.write(profile(realm: "OTHER.TEST"), to: "other.yaml")
        #expect(try await candidates("ksso login --profile \(other) --realm ") == ["OTHER.TEST"])
    }

    @Test(
        arguments: [
            ("fetch ", "intranet.corp.test"), ("explain in", "intranet.corp.test"), ("doctor in", "intranet.corp.test"),
            ("header https://", "//intranet.corp.test"), ("fetch http://int", "//intranet.corp.test"),
            ("fetch https:", "//intranet.corp.test"), ("fetch h", nil),
            ("fetch -i int", "intranet.corp.test"),
        ] as [(String, String?)]
    )
    func `hosts are those that a profile names, also after a scheme`(words: String, host: String?) async throws {
        #expect(try await candidates("ksso \(words)") == [host ?? "https://intranet.corp.test"])
    }

    @Test func `files complete the arguments that are files, and profiles those that are profiles`() async throws {
        try station.write(profile(), to: "corp.yaml")
        try station.write("", to: "corp.keytab")
        for words in ["setup co", "profile check co", "status --profile co"] {
            #expect(try await candidates("ksso \(words)").filter { $0 != "config" } == ["corp.yaml"], "\(words)")
        }
        for words in ["login --keytab corp", "doctor --keytab corp", "fetch --cacert corp", "fetch -o corp", "realm run --keytab corp"] {
            #expect(try await candidates("ksso \(words)") == ["corp.keytab", "corp.yaml"], "\(words)")
        }
    }

    @Test(
        arguments: [
            ("fault d", ["delay=", "drop", "drop-reply"]), ("run --fault re", ["refuse", "reply-too-big"]), ("kdc s", ["start", "stop"]),
            ("run --passw", ["--password-changes"]), ("run --user alice:secret --", nil),
        ] as [(String, [String]?)]
    )
    func `the words of ksso realm are those of the program ksso-realm`(words: String, expected: [String]?) async throws {
        let found = try await candidates("ksso realm \(words)")
        if let expected { #expect(found == expected) } else { #expect(found.contains("--user") && found.contains("--web")) }
    }

    @Test(arguments: ["exec -- ", "exec ", "exec --file --profile corp.yaml -v ", "realm run --web -- "])
    func `the command that ksso runs is completed like any other command`(words: String) async throws {
        try station.write("", to: "letter.txt")
        #expect(try await candidates("ksso \(words)klis") == ["klist"])
        #expect(try await candidates("ksso \(words)cat -n lett") == ["letter.txt"])
        // The function is that of the package bash-completion.
        let function = "_command_offset() { COMPREPLY=(\"${COMP_WORDS[$1]}\" \"${COMP_LINE}\"); }"
        let line = "ksso \(words)git checkout v1:fi"
        #expect(try await candidates(line, shell: function) == ["git", line].sorted())
    }

    /// bash expands the candidates that it gets, as it expands the words of a script.
    /// A backtick with an accent is one character to Swift, but not to bash.
    @Test(arguments: ["$(>executed)`>executed`", "$`\u{301}>executed`\u{301}"])
    func `a candidate is never executed`(name: String) async throws {
        try station.install(profile(hosts: ["other.test"], data: ["principalName: '\(name)'"]), as: "second.yaml")
        #expect(try await candidates("ksso login $") == ["\(name)@EXAMPLE.TEST"])
        #expect(!FileManager.default.fileExists(atPath: "\(station.directory)/executed"))
    }

    @Test func `a shell without profiles and sessions gets no candidates and no messages`() async throws {
        let empty = ["XDG_CONFIG_HOME": "\(station.directory)/nothing", "KRB5CCNAME": "FILE:/nonexistent/cache"]
        for words in ["login ", "fetch ", "switch ", "realm run --user "] {
            #expect(try await candidates("ksso \(words)", environment: empty) == [], "\(words)")
        }
    }

    /// bash writes a slash after a candidate that is a file name, if a folder has that name.
    @Test(arguments: [("agent r", false), ("login al", false), ("realm r", false), ("setup co", true), ("realm run --keytab co", true)])
    func `only the names of files are completed as files`(words: String, areFiles: Bool) async throws {
        for name in ["run", "corp.yaml"] {
            try FileManager.default.createDirectory(atPath: "\(station.directory)/\(name)", withIntermediateDirectories: true)
        }
        let options = "compopt() { [[ $* != *'+o filenames'* ]] || touch plain; }"
        _ = try await candidates("ksso \(words)", shell: options)
        #expect(FileManager.default.fileExists(atPath: "\(station.directory)/plain") != areFiles)
    }

    @Test(arguments: [("realm fault er", true), ("realm run --fault de", true), ("realm fault dr", false), ("realm fault ", false)])
    func `bash writes no space between a fault and its value`(words: String, needsValue: Bool) async throws {
        let options = "compopt() { [[ $* != *'-o nospace'* ]] || touch attached; }"
        _ = try await candidates("ksso \(words)", shell: options)
        #expect(FileManager.default.fileExists(atPath: "\(station.directory)/attached") == needsValue)
    }

    /// Without a terminal, fish does not apply the script's completions to a line, so that its function is called with the word.
    @Test(.enabled(if: StockProgram.isInstalled("fish"), "fish is missing: package fish"))
    func `fish completes profiles below ~ and variables`() async throws {
        for name in ["corp.yaml", "corp.txt"] { try station.write("", to: name) }
        let script = """
            ksso --generate-completion-script fish | source
            complete -c ksso | string match -q "*set -l exts*"; and echo generated
            set -gx FOLDER $HOME
            for word in '~/cor' '$FOLDER/cor'
                function commandline --inherit-variable word; echo $word; end
                __ksso_profiles
            end
            """
        let result = try await station.run(["fish", "--no-config", "-c", script], environment: ["HOME": station.directory])
        #expect(result.output == "~/corp.yaml\n$FOLDER/corp.yaml\n", "\(result)")
    }

    @Test(.enabled(if: StockProgram.isInstalled("fish"), "fish is missing: package fish"))
    func `fish completes the commands of ksso exec and ksso realm run`() async throws {
        func candidates(_ line: String) async throws -> [String] {
            let script = "ksso --generate-completion-script fish | source; complete -C '\(line)'"
            return try await station.run(["fish", "--no-config", "-c", script]).output.split(separator: "\n").map(String.init)
        }
        let lines = ["exec klis", "exec --file -- klis", "exec --profile corp.yaml -v -- klis", "exec --profile corp.yaml klis"]
        for words in lines + ["realm run --web -- klis"] {
            #expect(try await candidates("ksso \(words)").contains { $0.hasPrefix("klist") }, "\(words)")
        }
        for words in ["switch exec klis", "exec --profile klis"] {
            #expect(try await candidates("ksso \(words)").allSatisfy { !$0.hasPrefix("klist") }, "\(words)")
        }
    }

    @Test func `a file name with a space and a folder complete the options of ksso realm`() async throws {
        try station.write("", to: "my plan.yaml")
        try FileManager.default.createDirectory(atPath: "\(station.directory)/my plans", withIntermediateDirectories: true)
        #expect(try await candidates("ksso realm run --file my") == ["my plan.yaml", "my plans/"])
    }

    @Test func `realms inside ksso realm run are those that it started`() async throws {
        let inside = [EnclosingRealm.controlVariable: "\(station.directory)/control"]
        for words in ["realm fault drop --realm ", "realm kdc stop --realm=", "login --realm "] {
            #expect(try await candidates("ksso \(words)", environment: inside) == ["EXAMPLE.TEST"], "\(words)")
        }
        #expect(try await candidates("ksso realm run --realm ", environment: inside) == [])
        #expect(try await candidates("ksso realm fault drop --realm ") == [])
    }
}
