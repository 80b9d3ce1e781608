import Foundation
import KerberosTesting
import Testing

/// A user's environment in a realm: a home, a cache and a runtime folder of its own, in which `ksso` runs as on a machine with one user.
///
/// Its folder is inside the realm's folder and is removed with it.
struct Workstation {
    let realm: TestRealm
    let directory: String
    /// The variables that differ from the realm's. Commands have ten times their usual limits, so that a busy machine does not change
    /// their results. Pass ``usualPatience`` where something never answers.
    let variables: [String: String]

    init(realm: TestRealm) throws {
        self.realm = realm
        let files = FileManager.default
        directory = "\(realm.directory)/\(UUID().uuidString.prefix(8))"
        for folder in ["bin", "config/ksso"] {
            try files.createDirectory(atPath: "\(directory)/\(folder)", withIntermediateDirectories: true)
        }
        try files.createSymbolicLink(atPath: "\(directory)/bin/ksso", withDestinationPath: CommandBinary.path())
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        variables = [
            "HOME": directory, "XDG_CONFIG_HOME": "\(directory)/config", "KSSO_RUNTIME_DIR": "\(directory)/run",
            "KRB5CCNAME": "FILE:\(directory)/cache", "KSSO_PROFILE": "", "USER": "alice", "TZ": "UTC", "SHELL": "/bin/sh",
            "PATH": "\(directory)/bin:\(path)", "no_proxy": "*", "KSSO_PATIENCE": "10",
        ]
    }

    /// Makes a workstation in the realm of the running suite.
    init() throws {
        try self.init(realm: #require(TestRealm.current))
    }

    /// The variables of a command that is to give up as usual.
    static let usualPatience = ["KSSO_PATIENCE": "1"]

    var cache: String { "FILE:\(directory)/cache" }

    /// Runs `ksso` without a terminal.
    func ksso(_ arguments: String..., input: String? = nil, environment: [String: String] = [:]) async throws -> CommandResult {
        try await run(["ksso"] + arguments, input: input, environment: environment)
    }

    /// The variables from which a program that is built with a sanitizer takes its suppressions.
    static let variablesOfSanitizers = ["TSAN_OPTIONS", "ASAN_OPTIONS", "LSAN_OPTIONS"]

    /// The variables that systemd-socket-activate passes on to `ksso`; it passes no others.
    static let variablesForActivation =
        ["HOME", "PATH", "KRB5_CONFIG", "KRB5CCNAME", "KSSO_RUNTIME_DIR", "KSSO_PROFILE", "XDG_CONFIG_HOME"] + variablesOfSanitizers

    /// Runs a program without a terminal, using `setsid`, because the process that runs the tests may have one.
    func run(_ command: [String], input: String? = nil, environment: [String: String] = [:]) async throws -> CommandResult {
        let setsid = try Program.path(of: "setsid")
        return try await realm.run(setsid, ["--wait"] + command, environment: variables.merging(environment) { $1 }, input: input)
    }

    /// Makes the workstation's `ksso` a file of its own, which a test can replace. Returns its path.
    func installProgram() async throws -> String {
        let program = "\(directory)/bin/ksso"
        #expect(unlink(program) == 0)
        let built = URL(fileURLWithPath: try CommandBinary.path()).resolvingSymlinksInPath().path
        if link(built, program) != 0 { try await copyProgram(to: program) }
        return program
    }

    /// Copies the built program with cp(1). If this process had the copy open for writing, a process that it starts at that moment could
    /// have it open too, and the copy could not be executed.
    func copyProgram(to path: String) async throws {
        #expect(try await run(["cp", CommandBinary.path(), path]).exitStatus == 0)
    }

    /// Signs in and expects success.
    func signIn(_ name: String = "alice", password: String = "secret", sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let result = try await ksso("login", name, "--password-stdin", "--quiet", input: "\(password)\n")
        #expect(result == CommandResult(exitStatus: 0, output: "", errors: ""), sourceLocation: sourceLocation)
    }

    /// Writes a file into the home and returns the file's path.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        let path = "\(directory)/\(name)"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    /// Installs a profile for the user.
    @discardableResult
    func install(_ profile: String, as name: String = "test.yaml") throws -> String {
        try write(profile, to: "config/ksso/\(name)")
    }
}

/// A profile for hosts, which it also covers over plain http.
func profile(hosts: [String] = ["localhost"], realm: String = "EXAMPLE.TEST", data: [String] = []) -> String {
    """
    ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension
    TeamIdentifier: apple
    Type: Credential
    Realm: \(realm)
    Hosts: [\(hosts.joined(separator: ", "))]
    PlainHTTPHosts: [\(hosts.joined(separator: ", "))]
    ExtensionData:
      credentialUseMode: always
    \(data.map { "  \($0)\n" }.joined())
    """
}

extension CommandResult {
    /// Success with this on standard output and nothing on standard error.
    static func done(_ output: String) -> CommandResult { CommandResult(exitStatus: 0, output: output, errors: "") }

    /// A failure with this line on standard error and nothing on standard output.
    static func failure(_ status: Int, _ line: String) -> CommandResult {
        CommandResult(exitStatus: status, output: "", errors: "ksso: \(line)\n")
    }
}

extension CommandResult {
    /// The result with TIME in place of each date and time.
    var withoutTimes: CommandResult {
        CommandResult(exitStatus: exitStatus, output: output.withoutTimes, errors: errors.withoutTimes)
    }
}

extension String {
    /// The text with TIME in place of each date and time, such as `2030-01-31 12:00:00 +0100`, and LEFT in place of each time left.
    var withoutTimes: String {
        replacing(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}/, with: "TIME").replacing(/\(\d+ (d|h|min|s) left\)/, with: "LEFT")
    }
}

/// The path of a file in the repository.
func repositoryFile(_ path: String) -> String {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../../\(path)").standardized.path
}
