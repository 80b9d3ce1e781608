import KerberosTesting
import SignOnPolicy
import Testing

extension BrokenSetUp {
    private static let withoutDNS =
        LoadableLibrary.resolver == nil || LoadableLibrary.nameService == nil
        ? "resolv_wrapper or nss_wrapper is missing: Scripts/install-packages unpacks them" : nil

    static let realms = [
        BrokenSetUp("a wrong clock", failsAt: "clock", naming: "the KDC's clock is 36", "s ahead of this machine's") {
            let options = TestRealmOptions(users: ["alice": "secret"], clockOffset: .seconds(3630))
            return try await withStation(options, signsIn: false) { station in
                // Otherwise libkrb5 corrects the difference.
                let strict = try station.write("[libdefaults]\n kdc_timesync = 0\n", to: "strict.conf")
                return try await station.doctor(environment: ["KRB5_CONFIG": "\(strict):\(station.realm.configurationPath)"])
            }
        },
        BrokenSetUp("one KDC of two with a wrong clock", failsAt: "clock", naming: "the clock of KDC", " is 36", "another KDC of the realm")
        {
            try await withStation(TestRealmOptions(users: ["alice": "secret"], kdcCount: 2), signsIn: false) { station in
                try await station.realm.stopKDC(1)
                try await station.realm.startKDC(1, clockOffset: .seconds(3630))
                return try await station.doctor()
            }
        },
        BrokenSetUp("a KDC that never responds", failsAt: "kdc", naming: "KDC 127.0.0.1:", "does not answer", "no answer") {
            try await withStation { station in
                try await station.realm.pauseKDC()
                return try await station.doctor(environment: Workstation.usualPatience)
            }
        },
        BrokenSetUp(
            "an SRV record that points nowhere",
            failsAt: "kdc",
            naming: "KDC localhost:",
            "the SRV record _kerberos._tcp.EXAMPLE.TEST",
            "does not answer",
            obstacle: withoutDNS
        ) {
            try await withStation { station in
                try await station.realm.stopKDC()
                return try await station.doctor(environment: try station.resolving("localhost", kdcPort: station.realm.kdcPort))
            }
        },
        BrokenSetUp(
            "a site that does not exist",
            failsAt: "site",
            naming: "names the site Atlantis (siteCode)",
            "there is no SRV record _kerberos._tcp.Atlantis._sites.dc._msdcs.EXAMPLE.TEST",
            obstacle: withoutDNS
        ) {
            try await withStation(signsIn: false) { station in
                try station.install(profile(data: ["siteCode: Atlantis"]))
                return try await station.doctor(environment: try station.resolving("localhost", kdcPort: station.realm.kdcPort))
            }
        },
        BrokenSetUp("an expired password", failsAt: "account", naming: "alice@EXAMPLE.TEST", "the password has expired") {
            try await withStation(signsIn: false) { station in
                _ = try await station.realm.kadmin(["modify_principal", "-pwexpire", "yesterday", "alice"])
                return try await station.doctor()
            }
        },
        BrokenSetUp("a disabled account", failsAt: "account", naming: "alice@EXAMPLE.TEST", "locked, disabled or expired") {
            try await withStation(signsIn: false) { station in
                _ = try await station.realm.kadmin(["modify_principal", "-allow_tix", "alice"])
                return try await station.doctor()
            }
        },
    ]
}

extension Workstation {
    /// The environment of a process that finds the realm's KDC only in DNS, under a host name for this machine and at the given port.
    func resolving(_ host: String, kdcPort: Int) throws -> [String: String] {
        let records = "SRV _kerberos._tcp.\(realm.name) \(host) \(kdcPort)\n"
        let configuration = "[libdefaults]\n default_realm = \(realm.name)\n dns_lookup_kdc = true\n udp_preference_limit = 1\n"
        let libraries = [LoadableLibrary.resolver, LoadableLibrary.nameService].compactMap { $0?.path }
        return [
            "LD_PRELOAD": libraries.joined(separator: " "), "RESOLV_WRAPPER_HOSTS": try write(records, to: "records"),
            // libkrb5 looks up the name with a trailing dot, which is equivalent in DNS.
            "NSS_WRAPPER_HOSTS": try write("127.0.0.1 localhost \(host) \(host).\n", to: "hosts"),
            "NSS_WRAPPER_DISABLE_DEEPBIND": "1", "RESOLV_WRAPPER_DISABLE_DEEPBIND": "1",
            "KRB5_CONFIG": try write(configuration, to: "dns.conf"),
        ]
    }
}
