import Foundation
import KerberosTesting
import KerberosTestingTraits
import SignOnDiagnosis
import TestSupport
import Testing

/// `ksso doctor` and the programs whose settings name a local proxy.
@Suite(.testRealm(users: ["alice": "secret"]))
struct DoctorProxyTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install(profile())
    }

    private func configure(_ program: String, proxy: String) async throws {
        let result = try await station.ksso("configure", program, "--user", "--install", "--proxy", proxy)
        #expect(result.exitStatus == 0, "\(result)")
    }

    private func check() async throws -> DiagnosticCheck? { try await station.doctor().checks.first { $0.name == "proxy" } }

    private var ownAccount: String { geteuid() == 0 ? " --user" : "" }

    @Test(arguments: ["pip", "npm", "docker"])
    func `the doctor warns if the proxy of the settings does not run`(program: String) async throws {
        #expect(try await check() == nil)
        var address = ""
        try await station.withLocalProxy { proxy in
            address = proxy
            try await configure(program, proxy: proxy)
            let expected = DiagnosticCheck("proxy", .ok, "\(program): the local proxy of the settings is running.")
            #expect(try await check() == expected)
            let status = try await station.ksso("proxy", "status")
            #expect(!status.output.contains("failure"), "the doctor sends no request to it: \(status)")
        }
        let remedy = "ksso proxy run --listen \(address)"
        #expect(try await check() == DiagnosticCheck("proxy", .warning, "\(program): no proxy listens on \(address).", remedy: remedy))
        let removed = try await station.ksso("configure", program, "--user", "--uninstall")
        #expect(removed.exitStatus == 0, "\(removed)")
        #expect(try await check() == nil)
    }

    /// No program listens on this port.
    @Test func `the doctor names the address of the proxy that runs`() async throws {
        try await configure("pip", proxy: "127.0.0.1:9")
        try await station.withLocalProxy { proxy in
            let detail = "pip: no proxy listens on 127.0.0.1:9; yours listens on \(proxy)."
            let remedy = "ksso configure pip --install --proxy \(proxy)\(ownAccount)"
            let found = try await check()
            #expect(found == DiagnosticCheck("proxy", .warning, detail, remedy: remedy))
        }
    }

    /// Programs cannot use it as a proxy: it answers as one server.
    @Test func `the doctor does not offer a proxy in reverse mode`() async throws {
        try await configure("pip", proxy: "127.0.0.1:9")
        try await station.withLocalProxy(["--to", "https://localhost:1"]) { _ in
            let found = try await check()
            let remedy = "ksso proxy run --listen 127.0.0.1:9"
            #expect(found == DiagnosticCheck("proxy", .warning, "pip: no proxy listens on 127.0.0.1:9.", remedy: remedy))
        }
    }

    @Test func `another program at the proxy's address is reported`() async throws {
        try await ScriptedServer.run({ _ in .response(200, body: "hello") }) { server in
            try await configure("pip", proxy: "127.0.0.1:\(server.port)")
            let found = try #require(try await check())
            #expect(found.verdict == .warning, "\(found)")
            #expect(found.detail == "pip: the program that listens on 127.0.0.1:\(server.port) is not a local proxy.")
        }
    }

    @Test func `a check of a host says that no settings name a proxy`() async throws {
        let check = try #require(try await station.doctor("http://localhost:9/").checks.first { $0.name == "proxy" })
        #expect(check == DiagnosticCheck("proxy", .skipped, "no settings of ksso name a local proxy."))
    }
}
