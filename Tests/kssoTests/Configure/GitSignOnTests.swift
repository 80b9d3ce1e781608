import KerberosTesting
import KerberosTestingTraits
import SignOnDiagnosis
import TestSupport
import Testing

/// git signs in to a server with its own Kerberos, which is libcurl's.
@Suite(
    .enabled(if: StockProgram.isInstalled("git"), "git is not installed"),
    .testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]),
    .timeLimit(.minutes(5))
)
struct GitSignOnTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install(profile())
    }

    /// The settings of a host apply to the standard port only, so the test also makes the one that the doctor names.
    @Test func `git clones and pushes over https with the settings that ksso writes`() async throws {
        try await station.signIn()
        var options = ProtectedWebServerOptions(usesTLS: true)
        options.repositories = ["project"]
        try await withProtectedWebServer(realm: station.realm, options) { server in
            let git = GitClient(station: station, variables: ["GIT_SSL_CAINFO": server.certificatePath])
            let url = "\(server.url)/git/project.git"
            let configured = try await station.ksso("configure", "git", "--user", "--install")
            #expect(configured.exitStatus == 0, "\(configured)")
            let refused = try await git.run("ls-remote", url)
            #expect(refused.exitStatus != 0 && refused.errors.contains("could not read Username"), "\(refused)")

            let diagnosis = try await station.doctor(url, "--cacert", server.certificatePath)
            let check = try #require(diagnosis.checks.first { $0.name == "git" })
            let remedy = try #require(check.remedy)
            #expect(remedy == "git config --global http.\(server.url).emptyAuth true")
            #expect(try await station.run(["sh", "-ec", remedy]).exitStatus == 0)
            #expect(try await git.roundTrip(url) == .done("complete\n"))

            for service in ["git-receive-pack", "git-upload-pack"] {
                try await eventually { try server.accessLog().contains(" alice@EXAMPLE.TEST \"POST /git/project.git/\(service) ") }
            }
        }
    }
}
