import KerberosTesting

/// The installed git, with no settings of the machine and no terminal to ask at.
struct GitClient {
    let station: Workstation
    /// Variables of the test, such as `GIT_SSL_CAINFO`.
    var variables: [String: String] = [:]

    private static let variables = [
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": "", "GIT_AUTHOR_NAME": "Alice",
        "GIT_AUTHOR_EMAIL": "alice@example.test", "GIT_COMMITTER_NAME": "Alice", "GIT_COMMITTER_EMAIL": "alice@example.test",
        "no_proxy": "",
    ]

    func run(_ arguments: String...) async throws -> CommandResult { try await execute(["git"] + arguments) }

    /// Pushes a commit to an empty repository, and clones it.
    ///
    /// git sends the commit in chunks and only once, because it is larger than `http.postBuffer`.
    ///
    /// - Parameter prelude: Shell commands that set variables.
    /// - Returns: The result of a script that prints `complete` if the clone has the same file.
    func roundTrip(_ url: String, after prelude: String = "") async throws -> CommandResult {
        let script = """
            \(prelude)
            cd "$(mktemp -d -p "$HOME")"
            git init --quiet --initial-branch=main work
            head -c 3000000 /dev/urandom >work/large
            git -C work add large
            git -C work commit --quiet --message 'Add a file'
            git -C work push --quiet "$1" main
            git clone --quiet "$1" copy
            cmp work/large copy/large
            echo complete
            """
        return try await execute(["sh", "-ec", script, "sh", url])
    }

    private func execute(_ command: [String]) async throws -> CommandResult {
        try await station.run(command, environment: Self.variables.merging(variables) { $1 })
    }
}
