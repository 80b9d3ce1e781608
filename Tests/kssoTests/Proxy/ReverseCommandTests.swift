import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso proxy run --to`: an https server that requires a ticket, for programs and browsers without settings.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]))
struct ReverseCommandTests {
    let station: Workstation

    init() throws { station = try Workstation() }

    /// Runs a closure while the proxy forwards to a server, with the proxy's URL.
    private func whileForwarding(
        to origin: String,
        _ arguments: [String],
        _ body: (String) async throws -> Void
    ) async throws -> (status: Int, output: String) {
        var url = ""
        let end = try await withDaemon(
            ["ksso", "proxy", "run", "--listen", "127.0.0.1:0", "--to", origin] + arguments,
            on: station,
            isReady: { conversation in
                try await conversation.wait(for: " for \(origin).\n")
                try await conversation.wait(for: "Open in a browser: ")
                url = String(try await conversation.wait(for: "/\n").dropLast(2))
            }
        ) {
            try await body(url)
        }
        return (end.status, end.output)
    }

    @Test func `a program without settings gets pages of an https server`() async throws {
        try station.install(profile())
        try await withProtectedWebServer(realm: station.realm, ProtectedWebServerOptions(usesTLS: true)) { server in
            let end = try await whileForwarding(to: server.url, ["--cacert", server.certificatePath]) { url in
                let refused = try await station.run(["curl", "-sS", "\(url)/hello"])
                #expect(refused.output.contains("ksso login"), "\(refused)")
                try await station.signIn()
                let page = try await station.run(["curl", "-sS", "\(url)/hello"])
                #expect(page == .done("Hello alice@EXAMPLE.TEST\n"))
                let status = try await station.ksso("proxy", "status")
                #expect(status.output.contains(" for \(server.url): process "), "\(status)")
            }
            #expect(end.status == 0, "\(end.output)")
        }
    }

    @Test func `a server that no profile covers is reported at the start`() async throws {
        try station.install(profile(hosts: ["www.example.test"]))
        try await withProtectedWebServer(realm: station.realm, ProtectedWebServerOptions(usesTLS: true)) { server in
            let end = try await whileForwarding(to: server.url, ["--cacert", server.certificatePath]) { url in
                let page = try await station.run(["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "\(url)/hello"])
                #expect(page == .done("401"))
            }
            #expect(end.output.contains("ksso: warning: \(server.url) gets no ticket. No host rule of "), "\(end.output)")
        }
    }

    @Test(.enabled(if: StockProgram.isInstalled("git"), "git is not installed"))
    func `a git without settings clones and pushes over https`() async throws {
        try station.install(profile())
        try await station.signIn()
        var options = ProtectedWebServerOptions(usesTLS: true)
        options.repositories = ["project"]
        try await withProtectedWebServer(realm: station.realm, options) { server in
            let end = try await whileForwarding(to: server.url, ["--cacert", server.certificatePath]) { url in
                let result = try await GitClient(station: station).roundTrip("\(url)/git/project.git")
                #expect(result == .done("complete\n"))
            }
            #expect(end.status == 0, "\(end.output)")
            #expect(try server.accessLog().contains(" alice@EXAMPLE.TEST \"POST /git/project.git/git-receive-pack "))
        }
    }

    /// Chromium's policies are not involved: the browser sees a page that requires no sign-in.
    @Test(.enabled(if: StockProgram.isInstalled("chromium"), "chromium is not installed"), .timeLimit(.minutes(5)))
    func `Chromium without a policy shows the page of an https server`() async throws {
        try station.install(profile())
        try await station.signIn()
        try await withProtectedWebServer(realm: station.realm, ProtectedWebServerOptions(usesTLS: true)) { server in
            _ = try await whileForwarding(to: server.url, ["--cacert", server.certificatePath]) { url in
                let options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir=\(station.directory)/chromium"]
                let page = try await station.run(
                    ["chromium"] + options + ["--dump-dom", "\(url)/hello"],
                    environment: ["KRB5CCNAME": "FILE:/none"]
                )
                #expect(page.output.contains("Hello alice@EXAMPLE.TEST"), "\(page)")
            }
        }
    }

    /// The page opens a WebSocket and answers the server's question.
    @Test(.enabled(if: StockProgram.isInstalled("chromium"), "chromium is not installed"), .timeLimit(.minutes(5)))
    func `Chromium opens a WebSocket of an https server`() async throws {
        try station.install(profile())
        try await station.signIn()
        let page = """
            <!DOCTYPE html><title>socket</title><script>
            const socket = new WebSocket(location.origin.replace("http", "ws") + "/socket");
            socket.onmessage = message => socket.send("I heard: " + message.data);
            </script>
            """
        try FileManager.default.createDirectory(atPath: "\(station.directory)/site", withIntermediateDirectories: false)
        try station.write(page, to: "site/index.html")
        try await QuestioningServer.run { socket in
            var options = ProtectedWebServerOptions(usesTLS: true)
            options.files = "\(station.directory)/site"
            options.webSocketPort = socket.port
            try await withProtectedWebServer(realm: station.realm, options) { server in
                _ = try await whileForwarding(to: server.url, ["--cacert", server.certificatePath]) { url in
                    let arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir=\(station.directory)/chromium"]
                    // Without a command that ends it, the browser shows the page until it is stopped.
                    _ = try await withDaemon(["chromium"] + arguments + ["\(url)/files/"], on: station, isReady: { _ in }) {
                        let answer = await socket.answers.first { _ in true }
                        #expect(answer == "I heard: \(QuestioningServer.question)")
                    }
                }
            }
        }
    }

    @Test(
        arguments: [
            (
                ["--to", "https://intranet.example.test/wiki"], 64,
                "--to: the proxy forwards every path. Write only the server: https://intranet.example.test"
            ),
            (["--to", "https://alice:pw@intranet.example.test"], 64, "Write only the server: https://intranet.example.test"),
            (["--to", "https://192.0.2.1"], 64, "tickets are for names"), (["--to", "ftp://intranet.example.test"], 64, "--to: "),
            (["--to", "http://a.localhost:8408"], 64, "the proxy itself listens there"),
            (["--to", "intranet.example.test", "--admit", "root"], 64, "--to and --admit are mutually exclusive."),
            (["--cacert", "/none"], 64, "--cacert requires --to."),
            (["--to", "intranet.example.test", "--cacert", "/none"], 1, "--cacert: there is no such file: /none"),
        ] as [([String], Int, String)]
    )
    func `a wrong option is refused at the start`(arguments: [String], status: Int, part: String) async throws {
        let result = try await station.run(["ksso", "proxy", "run"] + arguments)
        #expect(result.exitStatus == status && result.errors.contains(part) && result.output.isEmpty, "\(result)")
    }
}
