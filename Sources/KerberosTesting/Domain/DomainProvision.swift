/// What the script that creates a domain reads from its standard input.
struct DomainProvision: Encodable {
    struct User: Encodable {
        let name: String
        let password: String
        let principalName: String?
        let attributes: [String: String]
    }

    struct Entry: Encodable {
        let name: String
        let attributes: [String: [String]]
    }

    struct Controller: Encodable {
        let name: String
        let address: String
        let site: String?
    }

    let folder: String
    let realm: String
    let netbios: String
    let address: String
    let users: [User]
    let services: [String]
    let sites: [String: [String]]
    let controllers: [Controller]
    let entries: [Entry]
    let attributes: [String: String]

    init(_ options: TestDomainOptions, _ folder: String, address: String) {
        self.folder = folder
        realm = options.name
        netbios = options.netBIOSName
        self.address = address
        users = options.users.map { User(name: $0.name, password: $0.password, principalName: $0.principalName, attributes: $0.attributes) }
        services = options.services
        sites = options.sites
        controllers = options.controllers.map { Controller(name: $0.name, address: $0.address, site: $0.site) }
        entries = options.entries.map { Entry(name: $0.name, attributes: $0.attributes) }
        attributes = options.attributes
    }

    /// Uses Samba's library, because `samba-tool` would need a second for each change, and a file system with ACLs for shared files, which
    /// this domain does not have.
    static let script = """
        import json, logging, secrets, sys
        import ldb, samba, samba.dckeytab, samba.dsdb
        from samba.auth import system_session
        from samba.ndr import ndr_pack
        from samba.net import Net
        from samba.provision import provision
        from samba.provision.sambadns import ARecord, SRVRecord
        from samba.sites import create_site
        from samba.subnets import create_subnet

        plan = json.load(sys.stdin)
        folder, realm = plan["folder"], plan["realm"]
        zone = realm.lower()
        domain = provision(
            logging.getLogger("provision"), system_session(), smbconf=folder + "/etc/smb.conf", targetdir=folder, realm=realm,
            domain=plan["netbios"], hostname="dc1", hostip=plan["address"], adminpass=secrets.token_urlsafe(24) + "-1aA",
            serverrole="active directory domain controller", dns_backend="SAMBA_INTERNAL",
            dom_for_fun_level=samba.dsdb.DS_DOMAIN_FUNCTION_2008_R2, skip_sysvolacl=True, root="root", nobody="nobody", users="users")
        database = domain.samdb
        database.set_minPwdAge("0")

        def modify(name, **attributes):
            account = database.search(expression="(sAMAccountName=%s)" % name, attrs=[])[0]
            change = ldb.Message(account.dn)
            for attribute, value in attributes.items():
                change[attribute] = ldb.MessageElement(value, ldb.FLAG_MOD_REPLACE, attribute)
            database.modify(change)

        for user in plan["users"]:
            database.newuser(user["name"], user["password"])
            if user.get("principalName"):
                modify(user["name"], userPrincipalName=user["principalName"])
            if user["attributes"]:
                modify(user["name"], **user["attributes"])
        base = str(database.get_default_basedn())
        for entry in plan["entries"]:
            values = {name: [value.replace("$domain", base) for value in values] for name, values in entry["attributes"].items()}
            database.add(dict(dn=entry["name"] + "," + base, **values))
        if plan["attributes"]:
            change = ldb.Message(ldb.Dn(database, base))
            for attribute, value in plan["attributes"].items():
                change[attribute] = ldb.MessageElement(value, ldb.FLAG_MOD_REPLACE, attribute)
            database.modify(change)
        # LDAP by GSSAPI asks for this name of the controller.
        ldap = "ldap/dc1.%s/%s" % (zone, zone)
        controller = database.search(expression="(sAMAccountName=DC1$)", attrs=["servicePrincipalName"])[0]
        names = [str(name) for name in controller.get("servicePrincipalName", [])]
        if ldap not in names:
            modify("DC1$", servicePrincipalName=names + [ldap])
        if plan["services"]:
            database.newuser("services", secrets.token_urlsafe(24) + "-1aA")
            modify("services", servicePrincipalName=plan["services"], **{"msDS-SupportedEncryptionTypes": "24"})
            for service in plan["services"]:
                Net(None, domain.lp).export_keytab(keytab=folder + "/services.keytab", principal=service)
        else:
            open(folder + "/services.keytab", "wb").write(b"\\x05\\x02")

        configuration = database.get_config_basedn()
        for site, subnets in plan["sites"].items():
            create_site(database, configuration, site)
            for subnet in subnets:
                create_subnet(database, configuration, subnet, site)

        zones = {
            "": "DC=%s,CN=MicrosoftDNS,DC=DomainDnsZones,%s" % (zone, database.get_default_basedn()),
            "_msdcs": "DC=_msdcs.%s,CN=MicrosoftDNS,DC=ForestDnsZones,%s" % (zone, database.get_root_basedn()),
        }

        def record(part, name, records):
            message = ldb.Message(ldb.Dn(database, "DC=%s,%s" % (name, zones[part])))
            values = [ndr_pack(one) for one in records]
            known = database.search(base=message.dn.parent(), scope=ldb.SCOPE_ONELEVEL, expression="(name=%s)" % name, attrs=["dnsRecord"])
            if known:
                message["dnsRecord"] = ldb.MessageElement(values, ldb.FLAG_MOD_ADD, "dnsRecord")
                database.modify(message)
            else:
                message["objectClass"] = ldb.MessageElement(["top", "dnsNode"], ldb.FLAG_MOD_ADD, "objectClass")
                message["dnsRecord"] = ldb.MessageElement(values, ldb.FLAG_MOD_ADD, "dnsRecord")
                database.add(message)

        def controllers(names):
            return [SRVRecord("%s.%s" % (name, zone), 88) for name in names]

        others = [controller["name"] for controller in plan["controllers"]]
        for controller in plan["controllers"]:
            record("", controller["name"], [ARecord(controller["address"])])
        if others:
            record("_msdcs", "_kerberos._tcp.dc", controllers(others))
            record("", "_kerberos._tcp", controllers(others))
            for protocol in ["_udp", "_tcp"]:
                servers = [SRVRecord("%s.%s" % (name, zone), 464, priority=0, weight=65535) for name in others]
                record("", "_kpasswd." + protocol, servers)
        for site in plan["sites"]:
            near = [controller["name"] for controller in plan["controllers"] if controller.get("site") == site]
            record("_msdcs", "_kerberos._tcp.%s._sites.dc" % site, controllers(["dc1"] + near))
        """
}
