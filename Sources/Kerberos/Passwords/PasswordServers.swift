extension KerberosClient {
    /// Whether libkrb5 finds a password server of the realm: one that krb5.conf names (`kpasswd_server`, else `admin_server`) or that DNS
    /// lists. Sends nothing to a KDC.
    ///
    /// Also true if that cannot be found out: no name server answers, or a plugin may locate the realm's servers, such as those of sssd and
    /// winbind.
    ///
    /// - Parameter secondsPerServer: How long to wait for each name server.
    /// - Throws: ``KerberosError``; `configurationInvalid`.
    package func knowsPasswordServer(secondsPerServer: Int = 2) async throws(KerberosError) -> Bool {
        let realm = configuration.realm
        let (isKnown, asksDNS, asksForURI) = try await perform { context throws(KerberosError) in
            let servers = try context.values(["realms", realm, "kpasswd_server"]) + context.values(["realms", realm, "admin_server"])
            let uriLookup = try context.values(["libdefaults", "dns_uri_lookup"]).first
            return (
                !servers.isEmpty || LibraryPlugin.mayLocateServers(in: context), try context.asksDNSForKDCs(),
                uriLookup.map(ConfigurationBoolean.isNotFalse) ?? true
            )
        }
        if isKnown { return true }
        guard asksDNS else { return false }
        if await knowsPasswordController() { return true }
        // libkrb5 asks for the password service first, then for the administration service, which has the same server.
        async let udp = NameService.serviceRecords("_kpasswd._udp.\(realm)", secondsPerServer: secondsPerServer)
        async let tcp = NameService.serviceRecords("_kpasswd._tcp.\(realm)", secondsPerServer: secondsPerServer)
        async let administration = NameService.serviceRecords("_kerberos-adm._tcp.\(realm)", secondsPerServer: secondsPerServer)
        async let uri = asksForURI ? NameService.locationRecords("_kpasswd.\(realm)", secondsPerServer: secondsPerServer) : .none
        async let administrationURI =
            asksForURI ? NameService.locationRecords("_kerberos-adm.\(realm)", secondsPerServer: secondsPerServer) : .none
        let services = await [udp, tcp, administration]
        let locations = await [uri, administrationURI]
        return services.contains { $0 != .none } || locations.contains { $0 != .none }
    }
}
