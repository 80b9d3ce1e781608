import Foundation
import KerberosTesting
import KerberosTestingTraits
import SignOnDiagnosis
import TestSupport
import Testing

/// Real browsers sign in with the policies that `ksso configure` writes, and to no other host.
@Suite(
    .protectedWeb,
    .serialized,
    .timeLimit(.minutes(5)),
    .enabled(if: PrivateMounts.arePossible, Comment(rawValue: PrivateMounts.reason))
)
struct BrowserSignOnTests {
    let station: Workstation
    let server: ProtectedWebServer

    init() throws {
        station = try Workstation()
        server = try #require(WebTrait.server)
    }

    private var url: String { "\(server.url)/hello" }

    private func run(_ script: String, hosts: [String]) async throws -> CommandResult {
        let path = try station.write(profile(hosts: hosts), to: "corp.yaml")
        try await station.signIn()
        return try await MachineSettings.run(
            script,
            url,
            on: station,
            environment: ["KSSO_PROFILE": path, "MOZ_HEADLESS": "1", "NO_AT_BRIDGE": "1"]
        )
    }

    /// Chromium loads the GSSAPI library only after the first challenge of a user's data, so the second page is the one that counts.
    @Test(
        .enabled(if: StockProgram.isInstalled("chromium"), "chromium is not installed"),
        arguments: [(["localhost"], true), ([".localhost", "www.example.test"], false)]
    )
    func `Chromium sends a ticket only to the hosts of the policy`(hosts: [String], isSignedIn: Bool) async throws {
        let script = """
            ksso configure chromium --install >/dev/null 2>&1
            for page in 1 2; do
                chromium --headless=new --no-sandbox --disable-gpu --user-data-dir="$HOME/chromium" --dump-dom "$1" >page 2>errors || :
            done
            cat page
            """
        let result = try await run("cd $HOME\n" + script, hosts: hosts)
        #expect(result.output.contains("Hello alice@EXAMPLE.TEST") == isSignedIn, "\(result)")
        #expect(result.output.contains("Unauthorized") != isSignedIn, "\(result)")
    }

    /// A screenshot ends the browser when the page is complete.
    @Test(
        .enabled(if: StockProgram.isInstalled("firefox-esr"), "firefox-esr is not installed"),
        arguments: [(["localhost"], true), ([".localhost", "www.example.test"], false)]
    )
    func `Firefox sends a ticket only to the hosts of the policies`(hosts: [String], isSignedIn: Bool) async throws {
        let script = """
            cd $HOME
            ksso configure firefox --install >/dev/null 2>&1
            mkdir firefox
            firefox-esr --headless --no-remote --profile "$HOME/firefox" --screenshot "$HOME/page.png" "$1" >errors 2>&1
            test -s page.png && echo complete
            """
        let before = try server.accessLog().count
        let result = try await run(script, hosts: hosts)
        #expect(result.output == "complete\n", "\(result)")
        let log = try server.accessLog().dropFirst(before)
        let pages = log.split(separator: "\n").filter { $0.contains("\"GET /hello ") }
        #expect(!pages.isEmpty, "the browser requested the page")
        #expect(pages.contains { $0.hasPrefix("200 ") } == isSignedIn, "\(log)")
    }

    @Test func `the doctor reads the policy that ksso configure wrote`() async throws {
        for name in ["chromium", "firefox"] {
            let browser = try station.write("#!/bin/sh\n", to: "bin/\(name)")
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: browser)
        }
        let script = """
            ksso configure chromium --install >/dev/null 2>&1
            ksso configure firefox --install >/dev/null 2>&1
            ksso doctor "$1" --json >after.json || :
            cat after.json
            """
        let result = try await run("cd $HOME\n" + script, hosts: ["localhost"])
        let document = try #require(result.output.firstRange(of: "{").map { result.output[$0.lowerBound...] })
        let diagnosis = try JSONDecoder().decode(Diagnosis.self, from: Data(document.utf8))
        let browser = try #require(diagnosis.checks.first { $0.name == "browser" })
        #expect(browser.verdict == .ok && browser.detail == "Chromium, Firefox: the settings allow the host.", "\(browser)")
    }
}
