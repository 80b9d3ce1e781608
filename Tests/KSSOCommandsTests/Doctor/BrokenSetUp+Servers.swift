import HTTPNegotiate
import KerberosTesting
import Testing

extension BrokenSetUp {
    static let servers = [
        BrokenSetUp("a proxy in between", failsAt: "challenge", naming: "a proxy stands in between", "407", "Basic", "Via: 1.1 gate") {
            try await withStation { station in
                try await withProtectedWebServer(realm: station.realm) { server in
                    try await StockApache.with(StockApache.wantsItsOwnSignIn(before: server.port), on: station) { port in
                        try await station.expectThePage(behind: port)
                        return try await station.doctor("http://localhost:\(port)/hello")
                    }
                }
            }
        },
        BrokenSetUp("a server without Negotiate", failsAt: "challenge", naming: "does not offer Negotiate", "it offers Basic") {
            try await withApache(StockApache.asksForAPassword)
        },
        BrokenSetUp("a server that wants NTLM", failsAt: "challenge", naming: "wants NTLM, and does not offer Negotiate") {
            try await withApache(StockApache.asksForNTLM)
        },
        BrokenSetUp(
            "a server whose clock is wrong",
            failsAt: "token",
            naming: "its clock is 36",
            "s behind the KDC's",
            obstacle: LoadableLibrary.clock == nil ? "libfaketime is missing: Scripts/install-packages unpacks it" : nil
        ) {
            // The KDC and the user are an hour ahead of the server, which has this machine's clock.
            let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/localhost"], clockOffset: .seconds(3630))
            return try await withStation(options, signsIn: false) { station in
                let ahead = ["LD_PRELOAD": LoadableLibrary.clock?.path ?? "", "FAKETIME": "+3630s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"]
                let login = try await station.ksso("login", "alice", "--password-stdin", "-q", input: "secret\n", environment: ahead)
                guard login.exitStatus == 0 else { throw Failed(result: login) }
                return try await withProtectedWebServer(realm: station.realm) { server in
                    try await station.doctor("\(server.url)/hello", environment: ahead)
                }
            }
        },
    ]

    private struct Failed: Error { let result: CommandResult }

    private static func withApache(_ directives: String) async throws -> Diagnosis {
        try await withStation { station in
            try await StockApache.with(directives, on: station) { try await station.doctor("http://localhost:\($0)/") }
        }
    }
}

extension Workstation {
    /// Who signs in to the proxy is asked for a ticket by the server behind it.
    fileprivate func expectThePage(behind port: Int) async throws {
        let words = ["curl", "-sS", "-i", "-H", "Proxy-Authorization: Basic eDp4", "http://localhost:\(port)/hello"]
        let answer = try await run(words).output
        #expect(answer.hasPrefix("HTTP/1.1 401 ") && answer.contains("WWW-Authenticate: Negotiate"), "\(answer)")
    }
}
