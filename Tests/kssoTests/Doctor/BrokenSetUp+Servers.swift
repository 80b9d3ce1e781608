import KerberosTesting
import SignOnDiagnosis
import Testing

extension BrokenSetUp {
    static let servers = [
        BrokenSetUp(
            "a proxy that requires its own sign-in",
            failsAt: "challenge",
            naming: "a proxy requires its own sign-in",
            "407",
            "Basic",
            "Via: 1.1 gate"
        ) {
            try await withStation { station in
                try await withProtectedWebServer(realm: station.realm) { server in
                    try await StockApache.with(StockApache.requiresProxySignIn(before: server.port), on: station) { port in
                        try await station.expectThePage(behind: port)
                        return try await station.doctor("http://localhost:\(port)/hello")
                    }
                }
            }
        },
        BrokenSetUp("a server without Negotiate", failsAt: "challenge", naming: "does not offer Negotiate", "it offers Basic") {
            try await withApache(StockApache.requiresPassword)
        },
        BrokenSetUp("a server that requires NTLM", failsAt: "challenge", naming: "requires NTLM, and does not offer Negotiate") {
            try await withApache(StockApache.requiresNTLM)
        },
        BrokenSetUp("a server without proof of its identity", failsAt: "mutualAuthentication", naming: "without the token") {
            try await withStation { station in
                try await withAcceptorServer(realm: station.realm, .init(finalToken: .dropped)) { try await station.doctor("\($0.url)/") }
            }
        },
        BrokenSetUp(
            "a server whose clock is wrong",
            failsAt: "token",
            naming: "its clock is 36",
            "s behind the KDC's",
            obstacle: LoadableLibrary.clock == nil ? "libfaketime is missing: Scripts/install-packages unpacks it" : nil
        ) {
            // Only the server's clock is changed, because ksso may be built with a sanitizer, and libfaketime deadlocks in such a program.
            try await withStation { station in
                try await withProtectedWebServer(realm: station.realm, .init(clockOffset: .seconds(-3630))) { server in
                    try await station.doctor("\(server.url)/hello")
                }
            }
        },
    ]

    private static func withApache(_ directives: String) async throws -> Diagnosis {
        try await withStation { station in
            try await StockApache.with(directives, on: station) { try await station.doctor("http://localhost:\($0)/") }
        }
    }
}

extension Workstation {
    /// Checks that a client that signs in to the proxy gets the Negotiate challenge of the server behind it.
    fileprivate func expectThePage(behind port: Int) async throws {
        let words = ["curl", "-sS", "-i", "-H", "Proxy-Authorization: Basic eDp4", "http://localhost:\(port)/hello"]
        let answer = try await run(words).output
        #expect(answer.hasPrefix("HTTP/1.1 401 ") && answer.contains("WWW-Authenticate: Negotiate"), "\(answer)")
    }
}
