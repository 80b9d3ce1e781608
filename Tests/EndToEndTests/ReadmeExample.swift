import AsyncHTTPClient
import KerberosSSO
import KerberosTesting
import NegotiateAsyncHTTPClient

/// The first example of README.md, line by line, so that the compiler checks it. It is not run because it prompts on a terminal.
func readmeExample() async throws {
    let sso = try await SingleSignOn(.automatic)  // the profiles in /etc/ksso and ~/.config/ksso
    try await sso.signIn("alice", prompt: .terminal)  // asks for the password; every krb5 program can use the ticket
    try await NegotiatingHTTPClient.withClient(extension: sso) { http in
        let reply = try await http.execute(HTTPClientRequest(url: "https://intranet.corp.example/"), timeout: .seconds(30))
        print(reply.status)  // 200: challenged, answered, and the server proved itself too
    }
}

/// The example for a service.
func readmeServiceExample() async throws {
    // The machine's policy may require a signed profile; without it, an unsigned one is accepted.
    let profile = try Profile(contentsOf: "/etc/app/corp.mobileconfig", policy: try ProfileSearch().policy())
    let sso = try await SingleSignOn(.inProcess(profile, credential: .keytab("/etc/app.keytab", principal: "app@CORP.EXAMPLE")))
    print(sso.profiles.count)
}

/// The example for tests, which a test runs.
func readmeTestExample() async throws {
    try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
        let keys = try await realm.run("klist", ["-k", realm.keytabPath])
        print(keys.output)
    }
}
