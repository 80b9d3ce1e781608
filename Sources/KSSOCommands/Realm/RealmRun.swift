internal import ArgumentParser
internal import Foundation
internal import Kerberos
internal import KerberosTesting
internal import Subprocess
internal import SystemPackage

struct RealmRun: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Start a private KDC; run COMMAND in it, or print exports and serve until interrupted.",
        usage: "ksso realm run [--realm R] [--user NAME:PASSWORD]… [--service PRINCIPAL]… [--file PLAN] [-- COMMAND…]",
        discussion: "For tests only: the passwords stand in the arguments. The realm is gone when the command ends."
    )

    @OptionGroup var flags: RealmFlags
    @Option(help: ArgumentHelp("Write the services' keys to this file as well.", valueName: "file"))
    var keytab: String?
    @Flag(help: "Also start an Apache whose page $KSSO_REALM_URL/hello wants a ticket.")
    var web = false
    @Option(help: ArgumentHelp("The name by which clients find that Apache, localhost by default; --listen needs one.", valueName: "name"))
    var host: String?
    @Flag(help: "Print one line of JSON instead of exports: realms, addresses, files, environment.")
    var json = false
    @Flag(help: "Without COMMAND: end when standard input ends, so that nothing is left behind a caller that dies.")
    var untilInputEnds = false
    @Argument(parsing: .postTerminator, help: "What to run in the realm, after --.")
    var command: [String] = []

    func validate() throws {
        if host != nil, !web { throw ValidationError("--host is the name of the server that --web starts.") }
        if keytab != nil, flags.service.isEmpty, flags.file == nil, !web {
            throw ValidationError("--keytab wants a --service, whose keys it holds.")
        }
        if !command.isEmpty, json || untilInputEnds {
            throw ValidationError("--json and --until-input-ends are for a realm without COMMAND, which has the environment already.")
        }
    }

    func run() async throws {
        let plan = try plan()
        do {
            let status = try await SignalWait.untilSignal { signal in
                try await withTestRealms(plan.realms, trusts: plan.trusts) { realms in try await start(plan, realms, signal: signal) }
            }
            if status != 0 { throw CommandFailure(ExitStatus(rawValue: status)) }
        } catch let error as KerberosTestingError {
            throw CommandFailure(.failed, lines: error.commandText)
        } catch let error as KerberosError {
            throw CommandFailure(.failed, error.description)
        }
    }

    private func plan() throws -> RealmPlan {
        var plan = try flags.file.map(readPlan) ?? flags.plan()
        if web {
            guard plan.web.isEmpty else {
                let message =
                    "\(flags.file ?? "the plan") names its own servers (web): leave --web and --host out, or take web out of the plan."
                throw CommandFailure(.usage, message)
            }
            plan.add(RealmPlan.WebServer(host: host ?? RealmPlan.WebServer.localHost))
        }
        do {
            try plan.checkNames()
        } catch {
            throw CommandFailure(.usage, error.message)
        }
        return plan
    }

    private func readPlan(_ file: String) throws -> RealmPlan {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw CommandFailure(.failed, "\(file): the file can't be read.")
        }
        do {
            return try RealmPlan(yaml: String(decoding: data, as: UTF8.self))
        } catch {
            throw CommandFailure(.failed, lines: "\(file): \(error.message)")
        }
    }

    private func start(_ plan: RealmPlan, _ realms: [TestRealm], signal: SignalWait) async throws -> Int32 {
        for realm in realms {
            guard let fault = plan.faults[realm.name] else { continue }
            for network in realm.networks { try await network.set(fault) }
        }
        let control = RealmControl(path: "\(realms[0].directory)/control") { try await $0.perform(in: realms) }
        return try await control.serve {
            try await withServers(plan.web[...], in: realms) { servers in
                // Apache may have had its key made now.
                if let keytab { try copyKeys(of: realms, to: keytab) }
                var environment = try privateEnvironment(realms[0], hosts: plan.web.map(\.host))
                environment[RealmControl.variable] = control.path
                if let first = servers.first {
                    environment["KSSO_REALM_URL"] = first.url
                    environment["KSSO_REALM_CERTIFICATE"] = first.certificate
                }
                return try await serve(describe(realms, servers, environment), environment, signal: signal)
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
                let started = started + [.init(realm: realm.name, url: server.url, certificate: certificate)]
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
                let started = started + [.init(realm: realm.name, url: server.url, certificate: identity?.certificatePath)]
                return try await withServers(rest.dropFirst(), in: realms, started: started, body)
            }
        }
    }
}
