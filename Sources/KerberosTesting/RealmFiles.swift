/// The text of a realm's two configuration files.
struct RealmFiles: Sendable {
    /// A realm beside this one, which clients of this one can reach.
    struct Peer: Sendable {
        var realm: String
        var port: Int
        /// Where passwords are changed; nil where they are not.
        var passwordPort: Int?
    }

    let options: TestRealmOptions
    let directory: String
    /// Realms that share a key with this one. The KDC refers services in their domains to them.
    var trustedRealms: [String] = []

    var clientPath: String { "\(directory)/krb5.conf" }
    var kdcPath: String { "\(directory)/kdc.conf" }
    var logPath: String { "\(directory)/kdc.log" }
    var keytabPath: String { "\(directory)/krb5.keytab" }
    var accessListPath: String { "\(directory)/kadm5.acl" }

    /// krb5.conf: nothing is looked up in DNS, and TCP comes first.
    ///
    /// One `kdc` line serves UDP and TCP although the KDC's two ports differ, so TCP is the one named. For kadmind it is UDP, with which
    /// libkrb5 changes passwords first.
    func client(port: Int?, passwordPort: Int? = nil, peers: [Peer]) -> String {
        var defaults = [
            "default_realm": options.name,
            "default_ccache_name": "FILE:\(directory)/ccache",
            "default_keytab_name": "FILE:\(keytabPath)",
            "default_client_keytab_name": "FILE:\(directory)/client.keytab",
            "dns_lookup_kdc": "false",
            "dns_lookup_realm": "false",
            "dns_canonicalize_hostname": "false",
            "rdns": "false",
            "udp_preference_limit": "1",
        ]
        defaults.merge(options.clientRelations) { $1 }
        let reachable = (port.map { [Peer(realm: options.name, port: $0, passwordPort: passwordPort)] } ?? []) + peers
        let realms = reachable.map { peer in
            let password = peer.passwordPort.map { "        kpasswd_server = 127.0.0.1:\($0)\n" } ?? ""
            return "    \(peer.realm) = {\n        kdc = 127.0.0.1:\(peer.port)\n\(password)    }\n"
        }.joined()
        let modules = options.pluginModules.sorted { $0.key < $1.key }.map { "    \($0.key) = {\n        module = \($0.value)\n    }\n" }
        return """
            [libdefaults]
            \(relations(defaults))
            [realms]
            \(realms)
            [plugins]
            \(modules.joined())
            [logging]
                kdc = FILE:\(logPath)

            """
    }

    /// kdc.conf: the database in the folder, loopback only, AES only; port 0 lets the kernel choose.
    func kdc(ports: ListeningPorts) -> String {
        var realm = [
            "database_module": "database",
            "key_stash_file": "\(directory)/stash",
            "acl_file": accessListPath,
            "kadmind_listen": "127.0.0.1:0",
            "kpasswd_listen": "127.0.0.1:0",
            "master_key_type": "aes256-cts-hmac-sha1-96",
            "supported_enctypes": "aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal",
            "max_life": "\(seconds(options.ticketLifetime) ?? 36_000)s",
            "max_renewable_life": "\(seconds(options.renewableLifetime) ?? 604_800)s",
            "host_based_services": "*",
        ]
        realm.merge(options.kdcRelations) { $1 }
        let domains = ([options.name] + trustedRealms).map { name in
            "    .\(name.lowercased()) = \(name)\n    \(name.lowercased()) = \(name)\n"
        }
        return """
            [kdcdefaults]
                kdc_listen = 127.0.0.1:\(ports.udp ?? 0)
                kdc_tcp_listen = 127.0.0.1:\(ports.tcp ?? 0)

            [realms]
                \(options.name) = {
            \(relations(realm))
                }

            [dbmodules]
                database = {
                    db_library = db2
                    database_name = \(directory)/principal
                }

            [domain_realm]
            \(domains.joined())
            """
    }

    /// The process environment in which krb5 programs see this realm only.
    func environment(inheriting parent: [String: String]) -> [String: String] {
        let own = [
            "KRB5_CONFIG": clientPath,
            "KRB5_KDC_PROFILE": kdcPath,
            "KRB5CCNAME": "FILE:\(directory)/ccache",
            "KRB5_KTNAME": "FILE:\(keytabPath)",
            "KRB5_CLIENT_KTNAME": "FILE:\(directory)/client.keytab",
            "KRB5RCACHENAME": "dfl:",
            "KRB5RCACHEDIR": directory,
        ]
        return parent.merging(own) { $1 }
    }

    private func relations(_ values: [String: String]) -> String {
        values.sorted { $0.key < $1.key }.map { "    \($0.key) = \($0.value)\n" }.joined()
    }

    private func seconds(_ duration: Duration?) -> Int64? {
        duration.map { max(1, $0.components.seconds) }
    }
}
