import Kerberos

let configuration = RealmConfiguration(realm: "EXAMPLE.TEST")
let name = try await KerberosClient(configuration).defaultCacheName()
print(try Principal("alice@EXAMPLE.TEST").realm == configuration.realm ? "works with \(name.type)" : "fails")
