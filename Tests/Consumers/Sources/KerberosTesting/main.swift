import KerberosTesting

try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
    try await realm.kinit("alice", password: "secret")
    print(try await realm.kvno("HTTP/localhost") == 1 ? "works" : "fails")
}
