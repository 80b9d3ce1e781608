import HTTPNegotiate
import KerberosTesting
import TestSupport
import Testing

extension BrokenSetUp {
    static let servers = [
        BrokenSetUp("a proxy in between", failsAt: "challenge", naming: "a proxy stands in between", "407", "Basic", "Via: 1.1 gate") {
            try await withServer("407 Proxy Authentication Required", ["Proxy-Authenticate: Basic realm=x", "Via: 1.1 gate"])
        },
        BrokenSetUp("a server without Negotiate", failsAt: "challenge", naming: "does not offer Negotiate", "Basic") {
            try await withServer("401 Unauthorized", ["WWW-Authenticate: Basic realm=\"x\""])
        },
        BrokenSetUp("a server that wants NTLM", failsAt: "challenge", naming: "wants NTLM") {
            try await withServer("401 Unauthorized", ["WWW-Authenticate: NTLM"])
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

    /// A server that gives every request the same answer.
    private static func withServer(_ status: String, _ fields: [String]) async throws -> Diagnosis {
        try await withStation { station in
            try await ScriptedServer.with({ _, _ in .response(status, fields) }) { server in
                try await station.doctor("http://localhost:\(server.port)/")
            }
        }
    }
}
