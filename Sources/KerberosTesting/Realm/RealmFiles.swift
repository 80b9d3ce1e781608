import Foundation

/// The contents and paths of a realm's configuration files.
struct RealmFiles: Sendable {
    /// Another realm that clients of this one can reach.
    struct Peer: Sendable {
        var realm: String
        /// The address of all its servers.
        var address: String
        /// The ports of its KDCs, in the order in which clients should try them.
        var ports: [Int]
        /// The port of its password-changing service; nil if it has none.
        var passwordPort: Int?
        /// The path of the authority of its certificates; nil if it accepts none. That of the realm itself is a default for all realms.
        var authorityPath: String?
    }

    private(set) var options: TestRealmOptions
    let directory: String
    var links = RealmLinks()

    var clientPath: String { "\(directory)/krb5.conf" }
    var kdcPath: String { kdcPath(0) }
    var keytabPath: String { "\(directory)/krb5.keytab" }
    var accessListPath: String { "\(directory)/kadm5.acl" }
    var certificateFolder: String { "\(directory)/certificates" }

    /// Returns the path of a KDC's kdc.conf.
    func kdcPath(_ number: Int) -> String { number == 0 ? "\(directory)/kdc.conf" : "\(directory)/kdc-\(number).conf" }

    /// Returns the path of the log of one KDC, or of the common log.
    func logPath(_ number: Int?) -> String {
        guard let number, options.kdcCount > 1 else { return "\(directory)/kdc.log" }
        return "\(directory)/kdc-\(number).log"
    }

    /// Returns the contents of krb5.conf. It disables DNS lookups, and prefers TCP.
    ///
    /// kadmind's UDP and TCP ports differ; this is the UDP port, which libkrb5 tries first for password changes.
    func client(ports: [Int], passwordPort: Int? = nil, peers: [Peer]) -> String {
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
        // Starts with UDP, as libkrb5 does by default, so that a test can apply faults to both transports.
        if options.faultProxy { defaults["udp_preference_limit"] = nil }
        if options.acceptsCertificates { defaults["pkinit_anchors"] = "FILE:\(certificateFolder)/ca.pem" }
        defaults.merge(options.clientRelations) { $1 }
        let own = Peer(realm: options.name, address: options.address, ports: ports, passwordPort: passwordPort)
        let reachable = (ports.isEmpty ? [] : [own]) + peers
        let realms = reachable.map { peer in
            let password = peer.passwordPort.map { "        kpasswd_server = \(peer.address):\($0)\n" } ?? ""
            let centers = peer.ports.map { "        kdc = \(peer.address):\($0)\n" }.joined()
            let anchors = peer.authorityPath.map { "        pkinit_anchors = FILE:\($0)\n" } ?? ""
            return "    \(peer.realm) = {\n\(centers)\(password)\(anchors)    }\n"
        }.joined()
        let modules = options.pluginModules.sorted { $0.key < $1.key }.map { "    \($0.key) = {\n        module = \($0.value)\n    }\n" }
        return """
            [libdefaults]
            \(relations(defaults))
            [realms]
            \(realms)
            [plugins]
            \(modules.joined())
            \(links.paths.configuration)
            [logging]
                kdc = FILE:\(logPath(nil))

            """
    }

    /// Adds plugins to those of the options.
    mutating func addPluginModules(_ modules: [String: String]) {
        options.pluginModules.merge(modules) { own, _ in own }
    }

    /// Returns the contents of kdc.conf: the database in the folder, one address, only AES.
    ///
    /// The KDC does not record successful sign-ins: each record is an fsync(2), and on a busy disk that takes longer than clients wait for
    /// an answer.
    func kdc(_ number: Int = 0, port: Int) -> String {
        var realm = [
            "database_module": "database",
            "key_stash_file": "\(directory)/stash",
            "acl_file": accessListPath,
            "kadmind_listen": "\(options.address):0",
            "kpasswd_listen": "\(options.address):0",
            "master_key_type": "aes256-cts-hmac-sha1-96",
            "supported_enctypes": "aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal",
            "max_life": "\(seconds(options.ticketLifetime) ?? 36_000)s",
            "max_renewable_life": "\(seconds(options.renewableLifetime) ?? 604_800)s",
            "host_based_services": "*",
        ]
        if options.acceptsCertificates {
            realm["pkinit_identity"] = "FILE:\(certificateFolder)/kdc.pem,\(certificateFolder)/kdc.key"
            realm["pkinit_anchors"] = "FILE:\(certificateFolder)/ca.pem"
        }
        realm.merge(options.kdcRelations) { $1 }
        let domains = ([options.name] + links.reachable).map { name in
            "    .\(name.lowercased()) = \(name)\n    \(name.lowercased()) = \(name)\n"
        }
        return """
            [kdcdefaults]
                kdc_listen = \(options.address):\(port)
                kdc_tcp_listen = \(options.address):\(port)

            [realms]
                \(options.name) = {
            \(relations(realm))
                }

            [dbmodules]
                database = {
                    db_library = db2
                    database_name = \(directory)/principal
                    disable_last_success = true
                }

            [domain_realm]
            \(domains.joined())
            [plugins]
                kdcpreauth = {
                    \(options.demandsFAST ? "disable = encrypted_timestamp" : "")
                }
            \(links.paths.configuration)
            \(options.kdcCount > 1 ? "[logging]\n    kdc = FILE:\(logPath(number))\n" : "")
            """
    }

    /// Returns the process environment in which krb5 programs use only this realm.
    func environment(inheriting parent: [String: String]) -> [String: String] {
        let own = [
            "KRB5_CONFIG": clientPath,
            "KRB5_KDC_PROFILE": kdcPath,
            "KRB5CCNAME": "FILE:\(directory)/ccache",
            "KRB5_KTNAME": "FILE:\(keytabPath)",
            "KRB5_CLIENT_KTNAME": "FILE:\(directory)/client.keytab",
            "KRB5RCACHENAME": "dfl:",
            "KRB5RCACHEDIR": directory,
            "KSSO_RUNTIME_DIR": "\(directory)/ksso",
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

/// Temporary folders for realms and servers.
enum TemporaryFolder {
    /// Returns a unique path in `TMPDIR` or `/tmp`.
    static func newPath() -> String {
        // Foundation takes an empty variable for the root directory.
        let isUnset = ProcessInfo.processInfo.environment["TMPDIR"]?.isEmpty ?? true
        let folder = isUnset ? URL(filePath: "/tmp") : FileManager.default.temporaryDirectory
        return folder.appending(path: "kerberos-testing-\(UUID().uuidString)").path
    }
}

extension String {
    /// Writes the text atomically, so that a reader sees either the old or the new file.
    func writeFile(_ path: String) throws {
        try write(toFile: path, atomically: true, encoding: .utf8)
    }

    /// Reads a file; a missing file counts as empty.
    static func contents(ofFile path: String) throws -> String {
        guard FileManager.default.fileExists(atPath: path) else { return "" }
        return try String(contentsOfFile: path, encoding: .utf8)
    }

    /// Reads a file of `/proc` to its end.
    package static func contents(ofKernelFile path: String) -> String? {
        var data = Data()
        let isRead = readParts(ofKernelFile: path) { part in
            data.append(part)
            return true
        }
        return isRead ? String(decoding: data, as: UTF8.self) : nil
    }

    /// Reads the lines of a file of `/proc` until `body` returns false.
    static func readLines(ofKernelFile path: String, _ body: (Substring) -> Bool) {
        var rest = ""
        readParts(ofKernelFile: path) { part in
            let lines = (rest + String(decoding: part, as: UTF8.self)).split(separator: "\n", omittingEmptySubsequences: false)
            rest = String(lines.last ?? "")
            return lines.dropLast().allSatisfy(body)
        }
    }

    /// Reads the parts of a file of `/proc` until `body` returns false.
    ///
    /// Foundation's functions for whole files do not work here: such a file reports a size of 0, and the kernel returns it in parts.
    ///
    /// - Returns: Whether the file could be read.
    @discardableResult
    private static func readParts(ofKernelFile path: String, _ body: (Data) -> Bool) -> Bool {
        guard let handle = FileHandle(forReadingAtPath: path) else { return false }
        do {
            while let part = try handle.read(upToCount: 1 << 12), !part.isEmpty, body(part) {}
            return true
        } catch {
            return false
        }
    }
}
