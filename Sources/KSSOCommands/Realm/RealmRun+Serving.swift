internal import ArgumentParser
internal import Foundation
internal import KerberosTesting
internal import Subprocess
internal import Synchronization
internal import SystemPackage

extension RealmRun {
    /// The realm's variables, and those that keep ksso itself apart from the user's own sessions and profiles. A profile that the user
    /// named stays; else localhost and the servers are covered, over plain http as well.
    func privateEnvironment(_ realm: TestRealm, hosts: [String]) throws -> [String: String] {
        var environment = realm.environment
        environment["KSSO_RUNTIME_DIR"] = "\(realm.directory)/ksso"
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
        try Data(profile.utf8).write(to: URL(fileURLWithPath: path))
        environment["KSSO_PROFILE"] = path
        return environment
    }

    /// Keys are for their owner only. They are read before the file is touched.
    func copyKeys(of realms: [TestRealm], to path: String) throws {
        // A keytab is a version, which the first one brings, and entries one behind the other.
        let tables = realms.compactMap { FileManager.default.contents(atPath: $0.keytabPath) }
        guard let first = tables.first else {
            throw CommandFailure(.failed, "--keytab: no realm has a service with a key. Name one: --service, or services in the plan.")
        }
        let keys = tables.dropFirst().reduce(first) { $0 + $1.dropFirst(2) }
        let file = try OutputFile.open(path, mode: 0o600)
        defer { try? file.close() }
        var status = stat()
        // A device is nobody's own.
        let isPrivate =
            fchmod(file.fileDescriptor, 0o600) == 0
            || (errno == EPERM && fstat(file.fileDescriptor, &status) == 0 && status.st_mode & S_IFMT != S_IFREG)
        guard isPrivate else {
            throw CommandFailure(.failed, "\(path): the file belongs to somebody else: keys are for their owner alone.")
        }
        do {
            try file.write(contentsOf: keys)
        } catch {
            throw CommandFailure(.failed, "\(path): the file can't be written.")
        }
    }

    func describe(_ realms: [TestRealm], _ servers: [RealmDescription.Server], _ environment: [String: String]) -> RealmDescription {
        RealmDescription(
            realms: realms.map { realm in
                RealmDescription.Realm(
                    name: realm.name,
                    kdc: "\(realm.address):\(realm.networks.first?.port ?? realm.kdcPort)",
                    configuration: realm.configurationPath,
                    keytab: realm.keytabPath,
                    directory: realm.directory
                )
            },
            web: servers,
            environment: environment.filter { $0.key.hasPrefix("KRB5") || $0.key.hasPrefix("KSSO_") }
        )
    }

    func serve(_ description: RealmDescription, _ environment: [String: String], signal: SignalWait) async throws -> Int32 {
        if let program = command.first { return try await run(program, environment: environment, signal: signal) }
        if json {
            try Console.printJSONLine(description)
        } else {
            Console.printExports(description.environment.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
            let names = description.realms.map(\.name).joined(separator: ", ")
            Console.note("\(names) serves until interrupted (Ctrl-C)\(untilInputEnds ? ", or until the input ends" : "").")
        }
        if untilInputEnds { InputWatch.endProcessInOrderWithInput() }
        _ = await signal.next()
        return 0
    }

    /// The command has the terminal: a signal from the keyboard goes to it as well, and its end is ours. SIGTERM and SIGHUP may come to
    /// this process alone: they are handed on.
    private func run(_ program: String, environment variables: [String: String], signal: SignalWait) async throws -> Int32 {
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
        } catch let error as SubprocessError where error.code == .executableNotFound {
            throw CommandFailure(ExitStatus(rawValue: 127), "\(program): there is no such program.")
        }
    }
}
