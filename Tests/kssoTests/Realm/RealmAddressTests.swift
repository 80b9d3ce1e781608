import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso realm run --listen`: a realm for clients on another machine or in a container.
@Suite(.testRealm(), .timeLimit(.minutes(5)))
struct RealmAddressTests {
    let station: Workstation
    let folder: RealmFolder

    init() throws {
        station = try Workstation()
        folder = try RealmFolder()
    }

    private func run(_ arguments: [String], script: String) async throws -> CommandResult {
        try await folder.run(arguments, script: script, on: station)
    }

    /// Prints the realm's ports on which a process listens at all addresses. Only the realm itself
    /// can do so, because it occupies these ports at its own address.
    private static let open = """
        open() {
            for port in $(grep -ohE '(kdc|kpasswd_server) = [0-9.:]+' "$KRB5_CONFIG" | sed 's/.*://') "${KSSO_REALM_URL##*:}"; do
                awk -v end="00000000:$(printf %04X "$port")" '$2 == end' /proc/net/tcp /proc/net/udp
            done
        }
        """

    @Test(arguments: [[], ["--fault", "pass"]])
    func `with --listen the KDC, the password service and the web server use that address`(more: [String]) async throws {
        let arguments = ["--listen", "127.0.0.2", "--web", "--host", "web.test", "--user", "alice:secret", "--password-changes"] + more
        let script = """
            \(Self.open)
            open
            echo secret | ksso login alice --password-stdin -q
            port="${KSSO_REALM_URL##*:}"
            curl -sS --resolve "web.test:$port:127.0.0.2" --negotiate -u : "$KSSO_REALM_URL/hello"; echo
            printf 'secret\nA-new-1\nA-new-1\n' | kpasswd alice | tail -n 1
            echo A-new-1 | kinit alice >/dev/null
            grep -o web.test "$KSSO_PROFILE" | head -n 1
            """
        let result = try await run(arguments, script: script)
        let lines = ["Hello alice@EXAMPLE.TEST", "", "Password changed.", "web.test"]
        #expect(result.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init) == lines, "\(result)")
    }

    /// The plan has two realms with a trust, and both kinds of web server.
    @Test func `listen in a plan sets the address of its KDCs and web servers`() async throws {
        let yaml = """
            listen: 127.0.0.3
            realms: [{name: A.TEST, users: {alice: secret}}, {name: B.TEST}]
            trusts: [A.TEST -> B.TEST]
            web: [{server: apache, realm: B.TEST, host: web.b.test, tls: true}, {server: acceptor, realm: B.TEST, host: other.b.test}]
            """
        let path = try station.write(yaml, to: "realm.yaml")
        let script = """
            coproc REALM { exec ksso realm run --file '\(path)' --json --until-input-ends; }
            read -r line <&"${REALM[0]}"
            value() { python3 -c 'import json, sys; print(eval("d" + sys.argv[2], {"d": json.loads(sys.argv[1])}))' "$line" "$1"; }
            export KRB5_CONFIG=$(value '["environment"]["KRB5_CONFIG"]') KRB5CCNAME=FILE:\(station.directory)/plan.ccache
            value '["realms"][0]["kdc"]' | sed 's/:.*//'
            echo secret | kinit alice@A.TEST >/dev/null
            for number in 0 1; do
                url=$(value "[\\"web\\"][$number][\\"url\\"]"); name=${url#*://}
                certificate=$(value "[\\"web\\"][$number].get(\\"certificate\\")")
                curl -sS $([ "$certificate" = None ] || echo --cacert "$certificate") --resolve "$name:127.0.0.3" --negotiate -u : "$url/hello"
                echo
            done
            realm=$REALM_PID
            eval "exec ${REALM[1]}>&-"
            wait "$realm"
            """
        let result = try await station.run(["bash", "-euc", script], environment: folder.environment)
        #expect(try folder.contents == [])
        #expect(result.output.split(separator: "\n") == ["127.0.0.3", "Hello alice@A.TEST", "Hello alice@A.TEST"], "\(result)")
    }

    private static let server = "web: [{server: acceptor"

    /// The server is not started, because clients would not find it by its name, or it would have no key.
    @Test(
        arguments: [
            (["--listen", "127.0.0.2", "--web"], "", "localhost is not 127.0.0.2"),
            (["--listen", "127.0.0.2", "--web", "--host", "localhost"], "", "localhost is not 127.0.0.2"),
            (["--web"], "listen: 127.0.0.2", "localhost is not 127.0.0.2"),
            ([], "listen: 127.0.0.2\n\(server)}]", "localhost is not 127.0.0.2"),
            (["--web", "--host", "Web.Test"], "", "“Web.Test” is not a host name"),
            (["--listen", "127.0.0.2", "--web", "--host", "127.0.0.2"], "", "“127.0.0.2” is not a host name"),
            (["--web", "--host", "web.test:80"], "", "“web.test:80” is not a host name"),
            (["--web", "--host", ""], "", "“” is not a host name"),
            ([], "\(server), host: \"web.test/?\"}]", "“web.test/?” is not a host name"),
        ] as [([String], String, String)]
    )
    func `an invalid host name, or one at another address, is a usage error`(flags: [String], plan: String, message: String) async throws {
        let file = plan.isEmpty ? [] : ["--file", try station.write("realms: [{name: A.TEST}]\n\(plan)\n", to: "realm.yaml")]
        let result = try await run(flags + file, script: "echo started")
        #expect(result.exitStatus == 64 && result.output.isEmpty && result.errors.contains(message), "\(result)")
    }

    @Test func `--listen with the default address changes nothing`() async throws {
        let script = "echo secret | kinit alice >/dev/null; curl -sS --negotiate -u : $KSSO_REALM_URL/hello"
        let result = try await run(["--listen", "127.0.0.1", "--web", "--user", "alice:secret"], script: script)
        #expect(result == .done("Hello alice@EXAMPLE.TEST\n"))
    }

    /// 203.0.113.0/24 is reserved for documentation (RFC 5737), so no machine has such an address.
    @Test(arguments: [[], ["--fault", "pass"]])
    func `an address that this machine does not have is reported`(more: [String]) async throws {
        let result = try await run(["--listen", "203.0.113.77"] + more, script: "true")
        #expect(result == .failure(1, "This machine has no address 203.0.113.77 to listen at; `ip address` lists its addresses."))
    }
}
