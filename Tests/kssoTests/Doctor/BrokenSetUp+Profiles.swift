import KerberosTesting
import SignOnPolicy
import Testing

extension BrokenSetUp {
    static let profiles = [
        BrokenSetUp("a profile with a misspelled key", failsAt: "profile", naming: "PlainHTTPHostss", "PlainHTTPHosts is probably meant") {
            try await withStation { station in
                let misspelled = profile().replacing("PlainHTTPHosts", with: "PlainHTTPHostss")
                try station.install(misspelled)
                return try await station.doctor("http://localhost:9/")
            }
        },
        BrokenSetUp("a host in two profiles", failsAt: "profile", naming: "localhost is also in", "test.yaml") {
            try await withStation { station in
                try station.install(profile(hosts: ["localhost", "other.example.test"]), as: "zweites.yaml")
                return try await station.doctor()
            }
        },
        BrokenSetUp("the address of a proxy", failsAt: "host", naming: "localhost:9 is a proxy of the profile") {
            try await withStation(signsIn: false) { station in
                try station.install(profile(hosts: ["localhost"]) + "ProxyServers: [\"localhost:9\"]\n")
                return try await station.doctor("localhost:9")
            }
        },
        BrokenSetUp("a wildcard host", failsAt: "profile", naming: "\"*.example.test\" has a wildcard") {
            try await withStation { station in
                try station.install(profile(hosts: ["'*.example.test'"]))
                return try await station.doctor("http://www.example.test:9/")
            }
        },
    ]
}
