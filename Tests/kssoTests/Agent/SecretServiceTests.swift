import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Passwords in a real Secret Service: GNOME Keyring on its own message bus, with Debian's secret-tool.
@Suite(
    .testRealm(users: [:], services: ["HTTP/localhost"]),
    .timeLimit(.minutes(5)),
    .enabled(if: StockProgram.secretTool != nil, "secret-tool is missing: Scripts/install-packages unpacks it"),
    .enabled(if: StockProgram.keyringDaemon != nil, "gnome-keyring-daemon is missing: Scripts/install-packages unpacks it"),
    .enabled(if: StockProgram.isInstalled("dbus-run-session") && StockProgram.isInstalled("gdbus"), "dbus-run-session or gdbus is missing")
)
struct SecretServiceTests {
    let station: Workstation
    let realm: TestRealm

    init() throws {
        station = try Workstation()
        realm = station.realm
    }

    /// Runs a script on a message bus whose Secret Service has the password of a new user. `$P` is the principal.
    private func run(_ script: String, stored: String = "very-secret-word") async throws -> (name: String, CommandResult) {
        let name = "user\(UUID().uuidString.lowercased())"
        defer { KernelKey.remove("ksso:\(name)@EXAMPLE.TEST") }
        try await realm.addUser(name, password: "very-secret-word", flags: ["+requires_preauth"])
        try station.install(profile(data: ["principalName: \(name)"]))
        let tool = try #require(StockProgram.secretTool)
        let daemon = try #require(StockProgram.keyringDaemon)
        try FileManager.default.createDirectory(
            atPath: "\(station.directory)/xdg",
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let body = """
            printf x | \(daemon.path) --foreground --unlock --components=secrets >/dev/null 2>&1 & daemon=$!
            gdbus wait --session --timeout 60 org.freedesktop.secrets || exit 99
            lookup() { secret-tool lookup service ksso principal $P; }
            printf \(stored) | secret-tool store --label=x service ksso principal $P || exit 98
            \(script)
            status=$?; kill $daemon; wait $daemon 2>/dev/null; exit $status
            """
        let folder = (tool.path as NSString).deletingLastPathComponent
        let path = station.variables["PATH"] ?? ""
        let environment = tool.variables.merging(
            ["P": "\(name)@EXAMPLE.TEST", "XDG_RUNTIME_DIR": "\(station.directory)/xdg", "PATH": "\(path):\(folder)"]
        ) { $1 }
        let result = try await station.run(["dbus-run-session", "--", "sh", "-c", body], environment: environment)
        return (name, result)
    }

    @Test func `a password in the Secret Service signs in, and ksso logout removes it`() async throws {
        let (name, result) = try await run(
            "ksso header http://localhost/ >/dev/null && ksso logout && ! lookup && ! ksso header http://localhost/ 2>/dev/null"
        )
        let expected = "\(name)@EXAMPLE.TEST is signed out.\nThe stored password of \(name)@EXAMPLE.TEST was removed.\n"
        #expect(result.exitStatus == 0 && result.output == expected, "\(result)")
    }

    @Test func `--remember replaces a password that the Secret Service has already`() async throws {
        let (name, result) = try await run("echo very-secret-word | ksso login --remember --password-stdin && lookup", stored: "old")
        let expected = "The password is stored in the Secret Service until you sign out. To remove it: ksso logout \(name)@EXAMPLE.TEST\n"
        #expect(result.exitStatus == 0 && result.output.hasSuffix("\(expected)very-secret-word"), "\(result)")
    }

    @Test func `a wrong password in the Secret Service is sent once and removed`() async throws {
        let (name, result) = try await run(
            "! ksso header http://localhost/ && ! ksso header http://localhost/ && ! lookup",
            stored: "wrong"
        )
        #expect(result.exitStatus == 0 && result.errors.contains("and was removed"), "\(result)")
        #expect(try await realm.failedAttempts(of: name) == 1)
    }
}
