import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// git through the local proxy, behind a squid that requires a ticket.
@Suite(
    .enabled(if: StockProgram.isInstalled("squid"), "squid is missing: package squid"),
    .enabled(if: StockProgram.isInstalled("git"), "git is not installed"),
    .testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]),
    .timeLimit(.minutes(5))
)
struct ProxyGitTests {
    /// A name that `ksso configure proxy-env` does not except, as it does localhost.
    private static let host = "git.example.test"

    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install("ProxyHosts: [localhost]\n" + profile(hosts: [Self.host, "localhost"]))
    }

    /// Runs a closure while Apache, squid and the local proxy serve.
    private func withServers(
        _ options: ProtectedWebServerOptions,
        _ body: @Sendable (_ server: ProtectedWebServer, _ squid: SquidProxy, _ proxy: String) async throws -> Void
    ) async throws {
        try await station.signIn()
        var options = options
        options.repositories = ["project"]
        var squidOptions = SquidProxyOptions()
        squidOptions.names = [Self.host]
        try await withProtectedWebServer(realm: station.realm, options) { server in
            try await withSquidProxy(realm: station.realm, squidOptions) { squid in
                let end = try await station.withLocalProxy(["--upstream", "\(squid.host):\(squid.port)"]) { proxy in
                    try await body(server, squid, proxy)
                }
                #expect(end.status == 0, "\(end.output)")
            }
        }
    }

    /// The variables are those of `ksso configure proxy-env`. Both squid and the server require a ticket.
    @Test func `a git without settings clones and pushes over plain http`() async throws {
        try await withServers(ProtectedWebServerOptions(principal: "HTTP/\(Self.host)")) { server, squid, proxy in
            let url = "http://\(Self.host):\(server.port)/git/project.git"
            let variables = "eval \"$(ksso configure proxy-env --user --shell sh --proxy \(proxy))\""
            let result = try await GitClient(station: station).roundTrip(url, after: variables)
            #expect(result == .done("complete\n"))
            try await eventually { try squid.accessLog().contains("200 POST \(url)/git-receive-pack alice@EXAMPLE.TEST ") }
            try await eventually { try server.accessLog().contains(" alice@EXAMPLE.TEST \"POST /git/project.git/git-receive-pack ") }
        }
    }

    /// In the tunnel, git authenticates itself to a server that requires that.
    @Test(arguments: [false, true]) func `git clones and pushes over https through a tunnel`(isProtected: Bool) async throws {
        try await withServers(ProtectedWebServerOptions(usesTLS: true)) { server, squid, proxy in
            let git = GitClient(
                station: station,
                variables: ["GIT_SSL_CAINFO": server.certificatePath, "https_proxy": "http://\(proxy)"]
            )
            if isProtected { _ = try await git.run("config", "--global", "http.\(server.url).emptyAuth", "true") }
            let result = try await git.roundTrip("\(server.url)\(isProtected ? "" : "/open")/git/project.git")
            #expect(result == .done("complete\n"))
            try await eventually { try squid.accessLog().contains("200 CONNECT localhost:\(server.port) alice@EXAMPLE.TEST ") }
            try await eventually { try server.accessLog().contains("git-receive-pack ") }
            #expect(try server.accessLog().contains(" alice@EXAMPLE.TEST ") == isProtected)
        }
    }
}
