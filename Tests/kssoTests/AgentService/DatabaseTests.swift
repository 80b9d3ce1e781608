import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// PostgreSQL's psql signs in with the agent's tickets.
@Suite(
    .enabled(if: StockProgram.isInstalled("psql"), "psql is missing: package postgresql-client"),
    .enabled(if: StockProgram.databasePrograms != nil, "PostgreSQL's server is missing: package postgresql"),
    .enabled(if: geteuid() == 0 && getpwnam("postgres") != nil, "only root can run PostgreSQL's server as the user postgres"),
    .testRealm(users: ["alice": "secret"], services: ["postgres/localhost"])
)
struct DatabaseTests {
    let station: Workstation
    /// The server's own folder.
    private var folder: String { "\(station.directory)/postgres" }
    private let asServer = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups", "--"]

    init() throws {
        station = try Workstation()
        try station.install(profile())
    }

    /// Creates a database for alice, whose server requires GSSAPI from every client.
    private func makeDatabase() async throws {
        let programs = try #require(StockProgram.databasePrograms)
        let script = """
            mkdir "$1"
            cp "$KRB5_KTNAME_FILE" "$1/keytab"
            chown -R postgres:postgres "$1"
            chmod 711 "$2" "$3"
            cd "$1"
            exec setpriv --reuid postgres --regid postgres --clear-groups -- \\
                \(programs)/initdb --pgdata="$1/data" --no-sync --auth=trust --username=alice --no-locale --encoding=UTF8
            """
        let result = try await station.run(
            ["sh", "-ec", script, "sh", folder, station.realm.directory, station.directory],
            environment: ["KRB5_KTNAME_FILE": station.realm.keytabPath]
        )
        try #require(result.exitStatus == 0, "\(result)")
        try "host all all 127.0.0.1/32 gss include_realm=0 krb_realm=EXAMPLE.TEST\n"
            .write(toFile: "\(folder)/data/pg_hba.conf", atomically: false, encoding: .utf8)
    }

    /// Runs a closure while PostgreSQL serves.
    ///
    /// Because PostgreSQL does not accept port 0, random ports below the kernel's ephemeral range are tried.
    private func withServer(_ body: (_ port: Int) async throws -> Void) async throws {
        let programs = try #require(StockProgram.databasePrograms)
        for _ in 0..<10 {
            let port = Int.random(in: 20_000..<32_000)
            let settings = [
                "listen_addresses=127.0.0.1", "port=\(port)", "unix_socket_directories=", "krb_server_keyfile=\(folder)/keytab",
                "fsync=off",
                "shared_buffers=1MB", "dynamic_shared_memory_type=mmap", "log_destination=stderr", "logging_collector=off",
            ]
            var isTaken = false
            // The server's replay cache is in its own folder.
            try await withDaemon(
                asServer + ["\(programs)/postgres", "-D", "\(folder)/data"] + settings.flatMap { ["-c", $0] },
                on: station,
                environment: ["KRB5RCACHEDIR": folder, "LC_ALL": "C"],
                isReady: { conversation in
                    do {
                        try await conversation.wait(for: "ready to accept connections")
                    } catch {
                        isTaken = conversation.transcript.contains("could not bind")
                        if !isTaken { throw error }
                    }
                },
                { if !isTaken { try await body(port) } }
            )
            if !isTaken { return }
        }
        Issue.record("no port was free")
    }

    @Test func `psql signs in with the agent's tickets, with and without GSSAPI encryption`() async throws {
        try await makeDatabase()
        try await withServer { port in
            func psql(encryption: String) async throws -> CommandResult {
                let server = "host=localhost hostaddr=127.0.0.1 port=\(port) user=alice dbname=postgres gssencmode=\(encryption)"
                let query = "SELECT principal, encrypted FROM pg_stat_gssapi WHERE pid = pg_backend_pid()"
                return try await station.run(["ksso", "exec", "--", "psql", "-X", "-At", "-c", query, server])
            }
            try await withServingAgent(at: station) {
                #expect(try await psql(encryption: "disable").exitStatus == 2)
                try await station.signIn()
                #expect(try await psql(encryption: "disable") == .done("alice@EXAMPLE.TEST|f\n"))
                #expect(try await psql(encryption: "require") == .done("alice@EXAMPLE.TEST|t\n"))
                #expect(try await station.status().sessions.first?.services.map(\.service) == ["postgres/localhost@EXAMPLE.TEST"])
            }
        }
    }
}
