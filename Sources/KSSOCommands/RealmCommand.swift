internal import ArgumentParser
internal import Foundation
internal import KerberosTesting
internal import Subprocess
internal import SystemPackage

struct RealmCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "realm",
        abstract: "A private KDC for tests.",
        subcommands: [Run.self]
    )

    struct Run: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Start a private KDC on loopback; run COMMAND in it, or print exports and serve until interrupted.",
            usage: "ksso realm run [--realm R] [--user NAME:PASSWORD]… [--service PRINCIPAL]… [-- COMMAND…]",
            discussion: "For tests only: the passwords stand in the arguments. The realm is gone when the command ends."
        )

        @Option(help: "The realm's name.")
        var realm = "EXAMPLE.TEST"
        @Option(help: ArgumentHelp("A user; may be given several times.", valueName: "name:password"))
        var user: [String] = []
        @Option(help: ArgumentHelp("A service with a key in the keytab; may be given several times.", valueName: "principal"))
        var service: [String] = []
        @Option(help: ArgumentHelp("Write the services' keys to this file as well.", valueName: "file"))
        var keytab: String?
        @Flag(help: "Also start an Apache whose page $KSSO_REALM_URL/hello wants a ticket for HTTP/localhost.")
        var web = false
        @Argument(parsing: .postTerminator, help: "What to run in the realm, after --.")
        var command: [String] = []

        func validate() throws {
            for entry in user where !entry.dropFirst().contains(":") {
                throw ValidationError("--user wants NAME:PASSWORD, not '\(entry)'.")
            }
            if keytab != nil, service.isEmpty, !web { throw ValidationError("--keytab wants a --service, whose keys it holds.") }
        }

        func run() async throws {
            let users = user.map { $0.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init) }
            let options = TestRealmOptions(
                name: realm,
                users: Dictionary(users.map { ($0[0], $0[1]) }) { $1 },
                services: web && !service.contains("HTTP/localhost") ? service + ["HTTP/localhost"] : service
            )
            do {
                let status = try await SignalWait.untilSignal { signal in
                    try await withTestRealm(options) { realm in try await start(realm, signal: signal) }
                }
                if status != 0 { throw CommandFailure(ExitStatus(rawValue: status)) }
            } catch let error as KerberosTestingError {
                throw CommandFailure(.failed, "\(error)")
            }
        }

        private func start(_ realm: TestRealm, signal: SignalWait) async throws -> Int32 {
            if let keytab { try copyKeys(of: realm, to: keytab) }
            let environment = try privateEnvironment(realm)
            guard web else { return try await serve(environment, name: realm.name, signal: signal) }
            return try await withProtectedWebServer(realm: realm) { server in
                try await serve(environment.merging(["KSSO_REALM_URL": server.url]) { $1 }, name: realm.name, signal: signal)
            }
        }

        /// The realm's variables, and those that keep ksso itself apart from the user's own sessions and profiles. A profile that the user
        /// named stays; else localhost is covered, over plain http as well.
        private func privateEnvironment(_ realm: TestRealm) throws -> [String: String] {
            var environment = realm.environment
            environment["KSSO_RUNTIME_DIR"] = "\(realm.directory)/ksso"
            guard environment["KSSO_PROFILE"]?.isEmpty ?? true else { return environment }
            let profile = """
                ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension
                Type: Credential
                Realm: \(realm.name)
                Hosts: [localhost]
                PlainHTTPHosts: [localhost]

                """
            let path = "\(realm.directory)/profile.yaml"
            try Data(profile.utf8).write(to: URL(fileURLWithPath: path))
            environment["KSSO_PROFILE"] = path
            return environment
        }

        /// Keys are for their owner only.
        private func copyKeys(of realm: TestRealm, to path: String) throws {
            let file = try OutputFile.open(path, mode: 0o600)
            defer { try? file.close() }
            do {
                guard fchmod(file.fileDescriptor, 0o600) == 0 || errno == EPERM else { throw CocoaError(.fileWriteUnknown) }
                try file.write(contentsOf: Data(contentsOf: URL(fileURLWithPath: realm.keytabPath)))
            } catch {
                throw CommandFailure(.failed, "\(path): the file can't be written.")
            }
        }

        private func serve(_ environment: [String: String], name: String, signal: SignalWait) async throws -> Int32 {
            guard let program = command.first else {
                for (name, value) in environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix("KRB5") || name.hasPrefix("KSSO_") {
                    Console.print("export \(name)=\(shellQuoted(value))")
                }
                Console.note("\(name) serves until interrupted (Ctrl-C).")
                _ = await signal.next()
                return 0
            }
            return try await run(program, environment: environment)
        }

        /// The command has the terminal; a signal from the keyboard goes to it as well, and its end is ours.
        private func run(_ program: String, environment variables: [String: String]) async throws -> Int32 {
            let environment = Environment.custom(
                variables.reduce(into: [:]) { result, entry in
                    if let key = Environment.Key(rawValue: entry.key) { result[key] = entry.value }
                }
            )
            do {
                let result = try await Subprocess.run(
                    program.contains("/") ? .path(FilePath(program)) : .name(program),
                    arguments: Arguments(Array(command.dropFirst())),
                    environment: environment,
                    input: .fileDescriptor(.standardInput, closeAfterSpawningProcess: false),
                    output: .fileDescriptor(.standardOutput, closeAfterSpawningProcess: false),
                    error: .fileDescriptor(.standardError, closeAfterSpawningProcess: false)
                )
                switch result.terminationStatus {
                case .exited(let status): return status
                case .signaled(let number): return 128 + number
                }
            } catch let error as SubprocessError where error.code == .executableNotFound {
                throw CommandFailure(ExitStatus(rawValue: 127), "\(program): there is no such program.")
            }
        }
    }
}
