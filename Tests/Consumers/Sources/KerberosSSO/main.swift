import KerberosSSO

let sso = try await SingleSignOn(.inProcess(try Profile(realm: "EXAMPLE.TEST", hosts: ["example.test"])))
print(try await sso.sessions().sessions.isEmpty ? "works" : "works with a session")
