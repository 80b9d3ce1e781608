import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso proxy run` in front of a squid that requires a ticket, and of an Apache that requires another one.
@Suite(.enabled(if: StockProgram.isInstalled("squid"), "squid is missing: package squid"), .protectedWeb)
struct ProxyCommandTests {
    let station: Workstation
    let web: ProtectedWebServer

    init() throws {
        station = try Workstation()
        web = try #require(WebTrait.server)
    }

    /// Installs a profile with the keys of a proxy.
    private func install(_ keys: [String]) throws {
        try station.install(keys.map { "\($0)\n" }.joined() + profile())
    }

    @discardableResult
    private func whileServing(
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        _ body: (String) async throws -> Void
    ) async throws -> (status: Int, output: String) {
        try await station.withLocalProxy(arguments, environment: environment, body)
    }

    /// Fetches a page with a curl that knows only the proxy.
    private func curl(_ arguments: [String] = [], _ page: String, through proxy: String) async throws -> CommandResult {
        let options = ["-sS", "--max-time", "120", "--noproxy", "", "--proxy", "http://\(proxy)", "-w", "%{http_code} %{http_connect}"]
        return try await station.run(["curl"] + options + arguments + [web.url + page])
    }

    @Test func `curl reaches http pages and opens tunnels through a squid that requires a ticket`() async throws {
        try await withSquidProxy(realm: station.realm) { squid in
            try install(["ProxyHosts: [localhost]", "ProxyServers: [\"\(squid.host):\(squid.port)\"]"])
            try await station.signIn()
            let end = try await whileServing { proxy in
                #expect(try await curl("/open", through: proxy).output == "open\n200 000")
                // The server behind the squid requires a ticket of its own.
                #expect(try await curl("/hello", through: proxy).output == "Hello alice@EXAMPLE.TEST\n200 000")
                #expect(try await curl(["--proxytunnel"], "/open", through: proxy).output == "open\n200 200")
                let post = try await curl(["--data", "text"], "/hello", through: proxy)
                #expect(post.output.hasPrefix("Hello alice@EXAMPLE.TEST"), "\(post)")

                let status = try await station.ksso("proxy", "status")
                #expect(status.exitStatus == 0 && status.errors.isEmpty, "\(status)")
                #expect(status.output.hasPrefix("The proxy listens on \(proxy): process "), "\(status)")
                #expect(status.output.contains("    routes: \(squid.host):\(squid.port) of the profile\n"), "\(status)")
                #expect(status.output.contains("    upstream \(squid.host):\(squid.port): reached "), "\(status)")
                let document = try await station.ksso("proxy", "status", "--json")
                #expect(document.output.contains("\"listeners\" : [\n        \"\(proxy)\"\n"), "\(document)")
            }
            #expect(end.status == 0, "\(end.output)")
            let log = try squid.accessLog()
            #expect(log.contains("200 GET \(web.url)/open alice@EXAMPLE.TEST "), "\(log)")
            #expect(log.contains("200 CONNECT localhost:\(web.port) alice@EXAMPLE.TEST "), "\(log)")
        }
        let status = try await station.ksso("proxy", "status")
        #expect(
            status == .failure(1, "no local proxy is running in \(station.directory)/run. Start one with: ksso proxy run")
        )
    }

    @Test func `a proxy that no profile lists gets no ticket`() async throws {
        try await withSquidProxy(realm: station.realm) { squid in
            try install(["ProxyServers: [\"\(squid.host):\(squid.port)\"]"])
            try await station.signIn()
            let end = try await whileServing { proxy in
                for options in [[], ["--proxytunnel"]] {
                    let result = try await curl(options + ["-v"], "/open", through: proxy)
                    #expect(!result.output.contains("open\n"), "\(result)")
                    #expect((result.output + result.errors).contains("ProxyHosts"), "\(result)")
                }
                let status = try await station.ksso("proxy", "status")
                #expect(status.output.contains("    failure ") && status.output.contains("ProxyHosts"), "\(status)")
            }
            #expect(end.output.hasPrefix("ksso: warning: \(squid.host):\(squid.port) gets no ticket. "), "\(end.output)")
            #expect(end.output.contains("does not cover the proxy localhost."), "\(end.output)")
            #expect(try !squid.accessLog().contains("alice"))
        }
    }

    @Test func `a program's own password for a proxy is sent on only if an option says so`() async throws {
        try await ScriptedServer.run { request in
            request.field("Proxy-Authorization") == nil
                ? .response(407, [("Proxy-Authenticate", "Basic realm=\"x\"")]) : .response(200, body: "page\n")
        } _: { server in
            try install([])
            for (options, status) in [([], "502"), (["--pass-proxy-authorization", "--idle-time", "60"], "200")] {
                try await whileServing(["--upstream", "127.0.0.1:\(server.port)"] + options) { proxy in
                    let result = try await curl(["--proxy-user", "alice:secret"], "/open", through: proxy)
                    #expect(result.output.hasSuffix("\(status) 000"), "\(result)")
                }
            }
        }
    }

    @Test func `without a ticket the page says how to sign in, and a later sign-in is used`() async throws {
        try await withSquidProxy(realm: station.realm) { squid in
            try install(["ProxyHosts: [localhost]", "ProxyServers: [\"\(squid.host):\(squid.port)\"]"])
            try await whileServing { proxy in
                let refused = try await curl("/open", through: proxy)
                #expect(refused.output.contains("ksso login"), "\(refused)")
                try await station.signIn()
                #expect(try await curl("/open", through: proxy).output == "open\n200 000")
            }
        }
    }

    @Test func `the proxy uses an agent, and continues without it`() async throws {
        try await withSquidProxy(realm: station.realm) { squid in
            try install(["ProxyHosts: [localhost]", "ProxyServers: [\"\(squid.host):\(squid.port)\"]"])
            try await station.signIn()
            try await whileServing { proxy in
                try await withServingAgent(at: station) {
                    // The agent has taken the ticket over.
                    let page = try await curl("/open", through: proxy)
                    #expect(page.output == "open\n200 000")
                    let status = try await station.ksso("proxy", "status")
                    #expect(status.output.contains("tickets: from the agent"), "\(status)")
                }
                let refused = try await curl("/open", through: proxy)
                #expect(refused.output.contains("ksso login"), "the ticket was the agent's: \(refused)")
                try await station.signIn()
                #expect(try await curl("/open", through: proxy).output == "open\n200 000")
            }
        }
    }

    @Test func `the proxy follows a change of the profile`() async throws {
        try await withSquidProxy(realm: station.realm) { squid in
            try install(["ProxyHosts: [localhost]"])
            try await station.signIn()
            try await whileServing { proxy in
                #expect(try await curl("/open", through: proxy).output == "open\n200 000")
                #expect(try squid.accessLog().isEmpty)
                try install(["ProxyHosts: [localhost]", "ProxyServers: [\"\(squid.host):\(squid.port)\"]"])
                try await eventually {
                    _ = try await curl("/open", through: proxy)
                    return try squid.accessLog().contains("alice@EXAMPLE.TEST")
                }
            }
        }
    }

    @Test func `the options precede the profile, and the profile precedes the environment`() async throws {
        try install(["ProxyHosts: [localhost]", "ProxyServers: [\"localhost:1\"]", "NoProxy: [.profile.test]"])
        let environment = ["http_proxy": "http://localhost:2", "no_proxy": ".environment.test"]
        for (arguments, expected) in [
            ([], "localhost:1 of the profile; direct to .profile.test"),
            (
                ["--upstream", "localhost:3", "--no-proxy", "a.test,10.0.0.0/8"],
                "localhost:3 of the command line; direct to a.test, 10.0.0.0/8"
            ),
            (
                ["--profile", try station.write(profile(), to: "plain.yaml")],
                "those of the variables http_proxy and https_proxy, else direct; direct to .environment.test"
            ),
        ] {
            try await whileServing(arguments, environment: environment) { _ in
                let status = try await station.ksso("proxy", "status").output
                #expect(status.contains("\(expected)\n"), "\(status)")
            }
        }
    }

    @Test(.enabled(if: Self.readsAutoConfiguration, "the engine for PAC files is missing: package libpacparser1"))
    func `a PAC file selects the proxy of each request`() async throws {
        try await withSquidProxy(realm: station.realm) { squid in
            try install(["ProxyHosts: [localhost]"])
            try await station.signIn()
            let script =
                "function FindProxyForURL(url, host) { return url.indexOf(\"/open\") > 0 ? \"PROXY \(squid.host):\(squid.port)\" : \"DIRECT\"; }"
            let file = try station.write(script, to: "proxy.pac")
            try await whileServing(["--pac", file]) { proxy in
                let (open, hello) = (try await curl("/open", through: proxy), try await curl("/hello", through: proxy))
                #expect(open.output == "open\n200 000")
                #expect(hello.output == "Hello alice@EXAMPLE.TEST\n200 000")
            }
            let log = try squid.accessLog()
            #expect(log.contains("200 GET \(web.url)/open alice@EXAMPLE.TEST ") && !log.contains("/hello"), "\(log)")
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
    func `an admitted user gets tickets for upstream proxies only`() async throws {
        try await withSquidProxy(realm: station.realm) { squid in
            try install(["ProxyHosts: [localhost]", "ProxyServers: [\"\(squid.host):\(squid.port)\"]"])
            try await station.signIn()
            try await whileServing(["--admit", "nobody"]) { proxy in
                var pages: [String] = []
                for page in ["/open", "/hello"] {
                    let options = ["-sS", "--noproxy", "", "--proxy", "http://\(proxy)", "-w", "%{http_code}", web.url + page]
                    pages.append(try await station.run(["setpriv", "--reuid=nobody", "--clear-groups", "curl"] + options).output)
                }
                #expect(pages[0] == "open\n200")
                #expect(pages[1].hasSuffix("401"), "\(pages[1])")
            }
        }
    }

    private static var readsAutoConfiguration: Bool {
        ["", "x86_64-linux-gnu/", "aarch64-linux-gnu/"].contains {
            FileManager.default.fileExists(atPath: "/usr/lib/\($0)libpacparser.so.1")
        }
    }

    @Test(
        arguments: [
            (["--listen", "0.0.0.0:0"], 1, "0.0.0.0 is not a loopback address"), (["--listen", "here"], 64, "--listen here: "),
            (["--upstream", "localhost"], 1, "has no port"), (["--pac", "ftp://a.test/x"], 1, "unsupported scheme"),
            (["--pac", "/x", "--upstream", "a:1"], 64, "--pac and --upstream are mutually exclusive."),
            (["--admit", "no-such-user"], 64, "--admit"), (["--idle-time", "0"], 64, "--idle-time must be between 1 and 86400 seconds."),
        ] as [([String], Int, String)]
    )
    func `a wrong option is refused at the start`(arguments: [String], status: Int, part: String) async throws {
        let result = try await station.run(["ksso", "proxy", "run"] + arguments)
        #expect(result.exitStatus == status && result.errors.contains(part) && result.output.isEmpty, "\(result)")
    }

    /// Runs a closure while a proxy serves a Unix socket that systemd has passed to it.
    private func whileActivated(_ body: (_ page: () async throws -> CommandResult) async throws -> Void) async throws {
        try install(["ProxyHosts: [localhost]"])
        let socket = "\(station.directory)/proxy.sock"
        let command = ["systemd-socket-activate", "-l", socket] + Workstation.variablesForActivation.flatMap { ["-E", $0] }
        let program = ["\(station.directory)/bin/ksso", "proxy", "run"]
        try await withDaemon(command + program, on: station, isReady: { try await $0.wait(for: "as 3.") }) {
            try await body {
                // curl 7.88 reaches no proxy at a Unix socket, but it can send what it would send to one.
                try await station.run([
                    "curl", "-sS", "--max-time", "120", "--unix-socket", socket, "--request-target", "\(web.url)/open", web.url,
                ])
            }
        }
    }

    @Test(.enabled(if: StockProgram.isInstalled("systemd-socket-activate"), "systemd-socket-activate is missing: package systemd"))
    func `systemd passes the sockets`() async throws {
        try await whileActivated { page in
            let result = try await page()
            #expect(result == .done("open\n"))
        }
    }

    @Test(.enabled(if: StockProgram.isInstalled("systemd-socket-activate"), "systemd-socket-activate is missing: package systemd"))
    func `after an upgrade the proxy ends, so that systemd starts the new program`() async throws {
        let program = try await station.installProgram()
        try await whileActivated { page in
            let result = try await page()
            #expect(result == .done("open\n"))
            let status = try await station.ksso("proxy", "status")
            #expect(status.exitStatus == 0)
            try await station.copyProgram(to: "\(program).new")
            #expect(rename("\(program).new", program) == 0)
            try await eventually { try await station.ksso("proxy", "status").exitStatus == 1 }
        }
    }
}

extension ProxyCommandTests {
    private func curl(_ page: String, through proxy: String) async throws -> CommandResult { try await curl([], page, through: proxy) }
}
