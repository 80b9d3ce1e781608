internal import CommandSupport
internal import Foundation
internal import NegotiateProxy
internal import SSOAgentClient
internal import SignOnDiagnosis
internal import SignOnPolicy
internal import SystemSupport

/// The programs whose settings `ksso configure` wrote for a local proxy, for the doctor.
enum ProxyClientInspection {
    /// Returns a report for each program whose settings name a local proxy.
    ///
    /// - Parameter configurations: The configurations of the active profiles.
    static func reports(_ configurations: [ExtensionConfiguration], environment: [String: String]) async -> [ProgramReport] {
        var user = SettingsContext(environment: environment, configurations: configurations, isMachine: false)
        user.isOwnAccountOfRoot = geteuid() == 0
        let machine = SettingsContext(environment: environment, configurations: configurations, isMachine: true)
        let clients = Self.clients(user) + Self.clients(machine)
        guard !clients.isEmpty else { return [] }
        let limit = Duration.seconds(2).patient
        // A suspended proxy does not answer.
        let running = await firstResult(within: limit) {
            await ProxyStatusSocket.running(in: RuntimeDirectory(environment: environment))
        }
        // One in reverse mode is no proxy for other programs.
        let proxies = (running ?? []).filter { $0.destination == nil }
        let addresses = proxies.flatMap(\.status.listeners).filter { !$0.hasPrefix("/") }
        let answers = await Self.answers(at: Set(clients.map(\.server)), running: addresses, within: limit)
        var reports: [ProgramReport] = []
        for client in clients {
            var faults = await client.settings.contradictions().map { ProgramReport.Fault($0.sentence, remedy: $0.remedy) }
            if let fault = client.fault(answers[client.server] ?? .absent, running: addresses) { faults.insert(fault, at: 0) }
            reports.append(ProgramReport(name: client.name, faults: faults))
        }
        return reports
    }

    /// The programs with settings in one context, once for each address.
    private static func clients(_ context: SettingsContext) -> [Client] {
        makers(context).flatMap { make -> [Client] in
            let texts = ((try? make(context).formerFiles()) ?? []).compactMap(\.installedText)
            return texts.compactMap(Self.server).withoutRepetitions.map { server in
                var context = context
                context.proxy = server.description
                return Client(settings: make(context), context: context, server: server)
            }
        }
    }

    private static func makers(_ context: SettingsContext) -> [(SettingsContext) -> any ProgramSettings] {
        var makers: [(SettingsContext) -> any ProgramSettings] = [
            { ProxyEnvironmentSettings(context: $0) }, { PipSettings(context: $0) }, { DockerSettings(context: $0) },
        ]
        // npm takes a second to say which file it reads.
        for path in context.isMachine ? NpmSettings.usualMachinePaths : [""] { makers.append { NpmSettings($0, machinePath: path) } }
        if context.isMachine { makers.append { AptSettings(context: $0) } }
        return makers
    }

    /// The proxy in the lines of a program, if it is one of this machine.
    private static func server(_ text: String) -> ProxyServer? {
        guard let match = text.firstMatch(of: /http:\/\/((?:[A-Za-z0-9.\-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5})/)?.1,
            let server = try? ProxyServer(String(match)), server.isLoopback
        else { return nil }
        return server
    }

    /// What answers at each address. A proxy of this user is not asked, because it would record the request as a failure.
    private static func answers(
        at servers: Set<ProxyServer>,
        running: [String],
        within limit: Duration
    ) async -> [ProxyServer: ProxyProbe] {
        await withTaskGroup(of: (ProxyServer, ProxyProbe).self) { group in
            for server in servers {
                let isRunning = running.contains(server.description)
                group.addTask {
                    if isRunning { return (server, .serving) }
                    return (server, await ProxyProbe.answer(at: server, within: limit))
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }
}

/// A program whose settings name a local proxy.
private struct Client {
    let settings: any ProgramSettings
    let context: SettingsContext
    let server: ProxyServer

    var name: String { context.isMachine && !settings.isMachineWide ? "\(settings.name) for all users" : settings.name }

    /// What is wrong with the proxy; nil if nothing is.
    ///
    /// - Parameter running: The addresses of this user's proxies.
    func fault(_ answer: ProxyProbe, running: [String]) -> ProgramReport.Fault? {
        let change = "Run a proxy on another port, and name it: \(command(proxy: "127.0.0.1:PORT"))"
        switch answer {
        case .serving: return nil
        // It may serve the user of the program, such as _apt.
        case .refusing where settings.isMachineWide: return nil
        case .refusing:
            return ProgramReport.Fault("the proxy on \(server) belongs to another user, and refuses your programs.", remedy: ownChange)
        // A proxy of another user that serves a program of the machine was set up by root.
        case .foreign where settings.isMachineWide: return nil
        case .foreign(let user):
            let message =
                "the proxy on \(server) belongs to \(user.map { "user \($0)" } ?? "another user"), who can read and change what your programs send and receive."
            return ProgramReport.Fault(message, remedy: ownChange)
        case .otherProgram:
            return ProgramReport.Fault("the program that listens on \(server) is not a local proxy.", remedy: change)
        case .absent:
            if let other = running.first {
                return ProgramReport.Fault("no proxy listens on \(server); yours listens on \(other).", remedy: command(proxy: other))
            }
            let address = server.description == DefaultProxyAddress.text ? "" : " --listen \(server)"
            return ProgramReport.Fault("no proxy listens on \(server).", remedy: "ksso proxy run\(address)")
        }
    }

    /// The user's own settings precede those of all users.
    private var ownChange: String {
        let command = context.command(settings.word, "--install --proxy 127.0.0.1:PORT", isMachineWide: false)
        return "Run a proxy of your own on another port, and name it: \(command)"
    }

    private func command(proxy: String) -> String {
        context.command(settings.word, "--install --proxy \(proxy)", isMachineWide: context.isMachine)
    }
}
