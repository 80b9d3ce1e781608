import Kerberos

let client = KerberosClient(RealmConfiguration(realm: "EXAMPLE.TEST"))
print(try Principal("alice@EXAMPLE.TEST").realm == client.realm ? "works" : "fails")
