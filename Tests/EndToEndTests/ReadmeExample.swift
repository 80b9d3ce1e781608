import AsyncHTTPClient
import KerberosSSO
import KerberosTesting
import NegotiateAsyncHTTPClient

/// The first example of README.md, line by line, so that the compiler checks it. It is not run because it prompts on a terminal.
func readmeExample() async throws {
    let sso = try await SingleSignOn(.automatic)  // the profiles in /etc/ksso and ~/.config/ksso
    try await sso.signInIfNeeded("alice", prompt: .terminal)  // asks for the password unless a ticket is valid
    try await NegotiatingHTTPClient.withClient(extension: sso) { http in
        let reply = try await http.execute(HTTPClientRequest(url: "https://intranet.corp.example/"), timeout: .seconds(30))
        print(reply.status)  // 200: challenged, answered, and the server proved itself too
    }
}

/// The example for a service.
func readmeServiceExample() async throws {
    // If the machine's policy requires signed profiles, an unsigned one is refused.
    let profile = try await Profile.load("/etc/app/corp.mobileconfig")
    let sso = try await SingleSignOn(.inProcess(profile, credential: .keytab("/etc/app.keytab", principal: "app@CORP.EXAMPLE")))
    print(sso.profiles.count)
}

/// The example for tests, which a test runs.
func readmeTestExample() async throws {
    try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
        let profile = try Profile(realm: realm.name, hosts: ["localhost"], plainHTTPHosts: ["localhost"])
        let sso = try await SingleSignOn(.inProcess(profile), environment: realm.environment)
        try await sso.signIn("alice", using: .password(Secret("secret")))
        try await withProtectedWebServer(realm: realm) { server in  // a real Apache
            try await NegotiatingHTTPClient.withClient(extension: sso) { http in
                let reply = try await http.execute(HTTPClientRequest(url: "\(server.url)/hello"))
                print(reply.status)  // 200: alice is signed in
            }
        }
    }
}
