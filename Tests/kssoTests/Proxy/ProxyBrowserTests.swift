import Foundation
import KerberosTesting
import TestSupport
import Testing

/// Real browsers without any policy, which the local proxy signs in to the hosts of the profile and to no others.
@Suite(
    .protectedWeb,
    .serialized,
    .timeLimit(.minutes(5)),
    .enabled(if: PrivateMounts.arePossible, Comment(rawValue: PrivateMounts.reason))
)
struct ProxyBrowserTests {
    let station: Workstation
    let server: ProtectedWebServer

    init() throws {
        station = try Workstation()
        server = try #require(WebTrait.server)
    }

    private var url: String { "\(server.url)/hello" }

    /// Runs a script with the URL, the proxy's host and its port as arguments, on a machine without policies.
    private func run(_ script: String, hosts: [String]) async throws -> CommandResult {
        try station.install(profile(hosts: hosts))
        try await station.signIn()
        var result: CommandResult?
        try await station.withLocalProxy { proxy in
            let parts = proxy.split(separator: ":").map(String.init)
            result = try await MachineSettings.run(
                "cd $HOME\n" + script,
                url,
                parts[0],
                parts[1],
                on: station,
                environment: ["MOZ_HEADLESS": "1", "NO_AT_BRIDGE": "1"]
            )
        }
        return try #require(result)
    }

    @Test(
        .enabled(if: StockProgram.isInstalled("chromium"), "chromium is not installed"),
        arguments: [(["localhost"], true), ([".localhost", "www.example.test"], false)]
    )
    func `Chromium without a policy is signed in to the hosts of the profile`(hosts: [String], isSignedIn: Bool) async throws {
        let script = """
            chromium --headless=new --no-sandbox --disable-gpu --user-data-dir="$HOME/chromium" --proxy-server="http://$2:$3" \
                --proxy-bypass-list='<-loopback>' --dump-dom "$1" 2>errors || :
            """
        let result = try await run(script, hosts: hosts)
        #expect(result.output.contains("Hello alice@EXAMPLE.TEST") == isSignedIn, "\(result)")
        #expect(result.output.contains("Unauthorized") != isSignedIn, "\(result)")
    }

    /// A screenshot ends the browser when the page is complete.
    @Test(
        .enabled(if: StockProgram.isInstalled("firefox-esr"), "firefox-esr is not installed"),
        arguments: [(["localhost"], true), ([".localhost", "www.example.test"], false)]
    )
    func `Firefox without a policy is signed in to the hosts of the profile`(hosts: [String], isSignedIn: Bool) async throws {
        let script = """
            mkdir firefox
            printf 'user_pref("%s", %s);\\n' network.proxy.type 1 network.proxy.http "\\"$2\\"" network.proxy.http_port "$3" \
                network.proxy.allow_hijacking_localhost true >firefox/user.js
            firefox-esr --headless --no-remote --profile "$HOME/firefox" --screenshot "$HOME/page.png" "$1" >errors 2>&1
            test -s page.png && echo complete
            """
        let before = try server.accessLog().count
        let result = try await run(script, hosts: hosts)
        #expect(result.output == "complete\n", "\(result)")
        let log = try server.accessLog().dropFirst(before)
        let pages = log.split(separator: "\n").filter { $0.contains("\"GET /hello ") }
        #expect(!pages.isEmpty, "the browser requested the page")
        #expect(pages.contains { $0.hasPrefix("200 ") && $0.contains(" alice@EXAMPLE.TEST ") } == isSignedIn, "\(log)")
    }
}
