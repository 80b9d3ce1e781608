internal import ArgumentParser
internal import CommandSupport
internal import Foundation
internal import Kerberos
internal import KerberosTesting
internal import Subprocess
internal import Synchronization
internal import SystemPackage
internal import SystemSupport

struct RealmRun: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Start a private KDC; run COMMAND in it, or print exports and serve until interrupted.",
        usage: "ksso realm run [--realm R] [--user NAME:PASSWORD]… [--service PRINCIPAL]… [--file PLAN] [-- COMMAND…]",
        discussion: """
            For tests only: passwords are visible in the process list. The realm is removed when the command exits. Exits with the \
            command's status, or with 127 if it or a program of the realm is not installed.

            VARIABLES (in addition to those of krb5):
              KSSO_REALM_URL                the first web server; /hello requires a ticket
              KSSO_REALM_URL_NAME           each of several servers, by the name in the
                                            plan in upper case, or else by its number
              KSSO_REALM_CERTIFICATE[_NAME] the certificate of a server with TLS
              KSSO_REALM_IDENTITY_USER      with --certificates, that of a user, for
                                            ksso login --certificate

            EXAMPLES:
              ksso realm run --user alice:secret -- kinit alice
              ksso realm run --user alice:secret --web -- bash
              ksso realm run --user alice:secret --certificates -- \\
                sh -c 'ksso login alice --certificate $KSSO_REALM_IDENTITY_ALICE'
            """
    )

    @OptionGroup var flags: RealmFlags
    @Option(help: ArgumentHelp("Also write the services' keys to this file.", valueName: "file"), completion: .file())
    var keytab: String?
    @Flag(help: "Also start an Apache server whose page $KSSO_REALM_URL/hello requires a ticket.")
    var web = false
    @Option(
        help: ArgumentHelp(
            "The host name of the server that --web starts; by default localhost; required with --listen.",
            valueName: "name"
        )
    )
    var host: String?
    @Flag(help: "Print one line of JSON with realms, addresses, files and environment instead of exports.")
    var json = false
    @Flag(help: "Without COMMAND, exit when standard input closes, so that the realm stops with its caller.")
    var untilInputEnds = false
    @Argument(parsing: .postTerminator, help: "The command to run in the realm, after --.")
    var command: [String] = []

    func validate() throws {
        if host != nil, !web { throw ValidationError("--host requires --web.") }
        if keytab != nil, flags.service.isEmpty, flags.file == nil, !web {
            throw ValidationError("--keytab requires --service, --web or --file.")
        }
        if command.first?.isEmpty == true { throw ValidationError("COMMAND is empty.") }
        if !command.isEmpty, json || untilInputEnds {
            throw ValidationError("--json and --until-input-ends cannot be combined with COMMAND.")
        }
    }

    func run() async throws {
        let plan = try plan()
        do {
            let status = try await ProcessSignals.withSignals { signal in
                try await withTestRealms(plan.realms, trusts: plan.trusts) { realms in try await start(plan, realms, signal: signal) }
            }
            if status != 0 { throw CommandFailure(ExitStatus(rawValue: status)) }
        } catch let error as KerberosTestingError {
            // The status of a shell for a missing program, so that a test runner can skip its tests.
            let status = error.code == .programMissing ? ExitStatus(rawValue: 127) : .failed
            throw CommandFailure(status, lines: error.commandText)
        } catch let error as KerberosError {
            throw CommandFailure(.failed, error.description)
        }
    }

    private func plan() throws -> RealmPlan {
        var plan = try flags.file.map(readPlan) ?? flags.plan()
        if web {
            guard plan.web.isEmpty else {
                let message =
                    "\(flags.file ?? "the plan") lists its own servers (web). Omit --web and --host, or remove web from the plan."
                throw CommandFailure(.usage, message)
            }
            plan.add(RealmPlan.WebServer(host: host ?? RealmPlan.WebServer.localHost))
        }
        do throws(KerberosTestingError) { try plan.checkNames() } catch {
            throw CommandFailure(.usage, "\(error.message) Its option is --host, or host in the plan.")
        }
        do throws(KerberosTestingError) { try plan.checkVariables() } catch { throw CommandFailure(.usage, error.message) }
        return plan
    }

    private func readPlan(_ file: String) throws -> RealmPlan {
        let bytes: [UInt8]
        do {
            // It may be a pipe, whose size is not known.
            let descriptor = try FileDescriptor.open(FilePath(file), .readOnly, options: .closeOnExec)
            bytes = try descriptor.closeAfter { try Self.contents(of: descriptor) }
        } catch {
            throw CommandFailure(.failed, "\(file): the file cannot be read (\(error)).")
        }
        do {
            return try RealmPlan(yaml: String(decoding: bytes, as: UTF8.self))
        } catch {
            throw CommandFailure(.failed, lines: "\(file): \(error.message)")
        }
    }

    private static func contents(of descriptor: FileDescriptor) throws -> [UInt8] {
        var contents: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = try buffer.withUnsafeMutableBytes({ try descriptor.read(into: $0) }), count > 0 {
            contents += buffer[..<count]
        }
        return contents
    }

    private func start(_ plan: RealmPlan, _ realms: [TestRealm], signal: ProcessSignals) async throws -> Int32 {
        for realm in realms {
            guard let fault = plan.faults[realm.name] else { continue }
            for network in realm.networks { try await network.set(fault) }
        }
        let control = RealmControl(path: "\(realms[0].directory)/control") { try await $0.perform(in: realms) }
        return try await control.serve {
            try await withServers(plan.web[...], in: realms) { servers in
                // Starting Apache may have created its key.
                if let keytab { try copyKeys(of: realms, to: keytab) }
                let described = try await describe(realms, of: plan)
                var environment = try privateEnvironment(realms[0], hosts: plan.web.map(\.host))
                DispatchLog.restore(in: &environment)
                environment[EnclosingRealm.controlVariable] = control.path
                environment.merge(RealmVariables.web(servers)) { $1 }
                environment.merge(RealmVariables.identities(described)) { $1 }
                let description = RealmDescription(
                    realms: described,
                    web: servers,
                    environment: environment.filter { $0.key.hasPrefix("KRB5") || $0.key.hasPrefix("KSSO_") }
                )
                let banner = RealmBanner(plan: plan, servers: servers, stopsWithInput: untilInputEnds)
                return try await serve(description, banner, environment, signal: signal)
            }
        }
    }

    /// Starts the servers one after the other.
    private nonisolated(nonsending) func withServers<Value>(
        _ rest: ArraySlice<RealmPlan.WebServer>,
        in realms: [TestRealm],
        started: [RealmDescription.Server] = [],
        _ body: nonisolated(nonsending) ([RealmDescription.Server]) async throws -> Value
    ) async throws -> Value {
        guard let wanted = rest.first else { return try await body(started) }
        let realm = realms.first { $0.name == wanted.realm } ?? realms[0]
        switch wanted.kind {
        case .apache:
            let options = ProtectedWebServerOptions(host: wanted.host, connectionBound: wanted.isConnectionBound, usesTLS: wanted.usesTLS)
            return try await withProtectedWebServer(realm: realm, options) { server in
                let certificate = wanted.usesTLS ? server.certificatePath : nil
                let started = started + [.init(name: wanted.name, realm: realm.name, url: server.url, certificate: certificate)]
                return try await withServers(rest.dropFirst(), in: realms, started: started, body)
            }
        case .acceptor:
            let identity = wanted.usesTLS ? try await realm.makeServerIdentity(host: wanted.host) : nil
            let options = AcceptorServerOptions(
                host: wanted.host,
                identity: identity,
                isConnectionBound: wanted.isConnectionBound,
                recordsRequests: false
            )
            return try await withAcceptorServer(realm: realm, options) { server in
                let started =
                    started + [.init(name: wanted.name, realm: realm.name, url: server.url, certificate: identity?.certificatePath)]
                return try await withServers(rest.dropFirst(), in: realms, started: started, body)
            }
        }
    }
}

extension RealmRun {
    /// Returns the realm's environment, with a variable that separates ksso from the user's own profiles. A profile that the user has
    /// named is kept. Otherwise a new profile covers localhost and the servers, also over plain http.
    func privateEnvironment(_ realm: TestRealm, hosts: [String]) throws -> [String: String] {
        // A realm in a realm does not have the servers and users of the outer one.
        var environment = realm.environment.filter { !$0.key.hasPrefix(RealmVariables.prefix) }
        guard environment["KSSO_PROFILE"]?.isEmpty ?? true else { return environment }
        let hosts = Set(hosts).union([RealmPlan.WebServer.localHost]).sorted().joined(separator: ", ")
        let profile = """
            ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension
            Type: Credential
            Realm: \(realm.name)
            Hosts: [\(hosts)]
            PlainHTTPHosts: [\(hosts)]

            """
        let path = "\(realm.directory)/profile.yaml"
        do {
            try Data(profile.utf8).write(to: URL(fileURLWithPath: path))
        } catch {
            throw CommandFailure(.failed, "\(path): the file cannot be written\(Console.reason(of: error)).")
        }
        environment["KSSO_PROFILE"] = path
        return environment
    }

    /// Writes the keytabs to a file with mode 0600. The keytabs are read before the file is opened.
    func copyKeys(of realms: [TestRealm], to path: String) throws {
        // A keytab is a version number, which the first one provides, followed by its entries.
        let tables = realms.compactMap { FileManager.default.contents(atPath: $0.keytabPath) }
        guard let first = tables.first else {
            throw CommandFailure(
                .failed,
                "--keytab: no realm has a service with a key. Add one with --service, or with services in the plan."
            )
        }
        let keys = tables.dropFirst().reduce(first) { $0 + $1.dropFirst(2) }
        let file = try OutputFile.open(path, mode: 0o600)
        defer { try? file.close() }
        var status = stat()
        // The mode of a device need not be changed.
        let isPrivate =
            fchmod(file.fileDescriptor, 0o600) == 0
            || (errno == EPERM && fstat(file.fileDescriptor, &status) == 0 && status.st_mode & S_IFMT != S_IFREG)
        guard isPrivate else {
            throw CommandFailure(
                .failed,
                "\(path): the file is owned by another user, who could read the keys. Specify another file with --keytab."
            )
        }
        do {
            try file.write(contentsOf: keys)
        } catch {
            throw CommandFailure(.failed, "\(path): the file cannot be written\(Console.reason(of: error)).")
        }
    }

    private func describe(_ realms: [TestRealm], of plan: RealmPlan) async throws -> [RealmDescription.Realm] {
        var described: [RealmDescription.Realm] = []
        // withTestRealms starts the realms of the plan in its order.
        for (realm, options) in zip(realms, plan.realms) {
            described.append(.init(realm, certificates: try await RealmDescription.Certificate.make(options, in: realm)))
        }
        return described
    }

    func serve(
        _ description: RealmDescription,
        _ banner: RealmBanner,
        _ environment: [String: String],
        signal: ProcessSignals
    ) async throws -> Int32 {
        if let program = command.first { return try await run(program, environment: environment, signal: signal) }
        if json {
            try Console.printJSONLine(description)
        } else {
            Console.printExports(description.environment.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
            for line in banner.lines { Console.note(line) }
        }
        if untilInputEnds { InputWatch.endProcessInOrderWithInput() }
        _ = await signal.next()
        return 0
    }

    /// Runs the command, which has the terminal: signals from the keyboard also reach it, and this process exits with its status. SIGTERM
    /// and SIGHUP may reach only this process and are forwarded.
    private func run(_ program: String, environment variables: [String: String], signal: ProcessSignals) async throws -> Int32 {
        let environment = Environment.custom(
            variables.reduce(into: [:]) { result, entry in
                if let key = Environment.Key(rawValue: entry.key) { result[key] = entry.value }
            }
        )
        let started = Mutex<Task<Void, Never>?>(nil)
        defer { started.withLock { $0?.cancel() } }
        do {
            let result = try await Subprocess.run(
                program.contains("/") ? .path(FilePath(program)) : .name(program),
                arguments: Arguments(Array(command.dropFirst())),
                environment: environment,
                input: .fileDescriptor(.standardInput, closeAfterSpawningProcess: false),
                output: .fileDescriptor(.standardOutput, closeAfterSpawningProcess: false),
                error: .fileDescriptor(.standardError, closeAfterSpawningProcess: false)
            ) { execution in
                let process = execution.processIdentifier.value
                let handing = Task {
                    while !Task.isCancelled {
                        let number = await signal.next()
                        if [SIGTERM, SIGHUP].contains(number) { kill(process, number) }
                    }
                }
                started.withLock { $0 = handing }
            }
            switch result.terminationStatus {
            case .exited(let status): return status
            case .signaled(let number): return 128 + number
            }
        } catch let error as SubprocessError {
            throw Self.startFailure(program, error)
        }
    }

    /// The error of a command that was not started, with the status of a shell: 127 if there is no such program, otherwise 126.
    private static func startFailure(_ program: String, _ error: SubprocessError) -> CommandFailure {
        let isPresent = program.contains("/") && FileManager.default.fileExists(atPath: program)
        guard error.code == .executableNotFound else {
            let reason = error.underlyingError.map { "\($0)" } ?? "\(error)"
            return CommandFailure(ExitStatus(rawValue: 126), "\(program): the program cannot be started: \(reason).")
        }
        guard isPresent else { return CommandFailure(ExitStatus(rawValue: 127), "\(program): there is no such program.") }
        let reason = access(program, X_OK) == 0 ? "it is a folder, or its interpreter is missing" : "it is not executable"
        return CommandFailure(ExitStatus(rawValue: 126), "\(program): the program cannot be started: \(reason).")
    }
}

/// Detects that the other end of standard input is closed.
enum InputWatch {
    /// Stops the process in this case, as SIGTERM does. The input is discarded.
    static func endProcessInOrderWithInput() {
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(STDIN_FILENO, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                if count <= 0 { break }
            }
            kill(getpid(), SIGTERM)
        }
    }
}
