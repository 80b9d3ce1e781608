internal import ArgumentParser
internal import CommandSupport
internal import ExtensionProfile
internal import Foundation
internal import HTTPNegotiate
internal import Kerberos
internal import KerberosSSO
internal import NegotiateProxy
internal import SSOAgent
internal import SSOAgentClient
internal import SignOnPolicy

/// `ksso proxy run`: serves until stopped.
struct ProxyRun: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Forward the requests of programs that know no Kerberos, and sign them in, until stopped.",
        discussion: """
            Programs use the proxy through their settings or the variables http_proxy and https_proxy. It answers upstream proxies that \
            ProxyHosts of a profile lists, and servers over plain http that Hosts and PlainHTTPHosts list. It forwards https through a \
            tunnel that it cannot read, so it does not sign in to https servers. Only your own programs may use it, and those of \
            users whom you admit. In a browser, a \
            request whose Origin is another web site gets no ticket; links and images of other web sites do, because they have no Origin.

            With --to, the proxy forwards all requests to one web server, https too, and signs in there: open the proxy's address in a \
            browser, which needs no settings. Redirects and cookies are changed to that address, the contents of pages are not.

            Without --upstream and --pac, the routes are those of the profile (ProxyAutoConfigURL, ProxyServers, NoProxy), else those of \
            the variables http_proxy, https_proxy and no_proxy, else direct. Tickets come from the agent, which prompts for a sign-in if \
            it can; without an agent, they come from the default cache. If systemd passes sockets to the proxy, the proxy uses those.

            EXAMPLES:
              ksso proxy run
              ksso proxy run --upstream proxy1.corp.example:3128 --upstream proxy2.corp.example:3128 --no-proxy .corp.example
              ksso proxy run --to https://intranet.corp.example
              http_proxy=http://\(DefaultProxyAddress.text) https_proxy=http://\(DefaultProxyAddress.text) pip install requests
            """
    )

    @Option(
        help: ArgumentHelp(
            "Listen on this loopback address and port; may be repeated. By default \(DefaultProxyAddress.text), with --to an address "
                + "that depends on the server, and port \(DefaultProxyAddress.reversePort).",
            valueName: "address:port"
        )
    )
    var listen: [String] = []
    @Option(help: ArgumentHelp("Listen on this Unix socket; may be repeated.", valueName: "path"), completion: .file())
    var socket: [String] = []
    @Option(
        help: ArgumentHelp(
            "Send requests through this proxy; may be repeated: the first one that can be reached is used.",
            valueName: "host:port"
        )
    )
    var upstream: [String] = []
    @Option(
        help: ArgumentHelp("Select a proxy for each request by this PAC file.", valueName: "url-or-path"),
        completion: .file()
    )
    var pac: String?
    @Option(
        name: .customLong("no-proxy"),
        help: ArgumentHelp("Connect directly to these hosts, domains and networks, separated by commas.", valueName: "list")
    )
    var noProxy: String?
    @Option(
        help: ArgumentHelp(
            "Also serve programs of this user, such as _apt; may be repeated. They get tickets for upstream proxies only.",
            valueName: "user"
        )
    )
    var admit: [AdmittedUser] = []
    @Flag(
        help: """
            Send a program's own password for a proxy (Proxy-Authorization) to upstream proxies that get no ticket. By default \
            no proxy gets it.
            """
    )
    var passProxyAuthorization = false
    @Option(
        name: .customLong("idle-time"),
        help: ArgumentHelp("Close connections and tunnels that transfer nothing for this time.", valueName: "seconds")
    )
    var idleTime = 300
    @Option(
        help: ArgumentHelp("Forward all requests to this web server, and sign in there; https:// may be omitted.", valueName: "url"),
        completion: .page,
        transform: pageURL
    )
    var to: String?
    @OptionGroup var trust: TrustOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if pac != nil, !upstream.isEmpty { throw ValidationError("--pac and --upstream are mutually exclusive.") }
        // Other users get tickets for upstream proxies only.
        if to != nil, !admit.isEmpty { throw ValidationError("--to and --admit are mutually exclusive.") }
        guard 1...86_400 ~= idleTime else { throw ValidationError("--idle-time must be between 1 and 86400 seconds.") }
        if to == nil, trust.cacert != nil { throw ValidationError("--cacert requires --to.") }
    }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        try await common.engine.run { sso in
            let runtime = RuntimeDirectory(environment: environment)
            try runtime.makePrivate()
            let destination = try to.map { try ReverseDestination(option: $0, tls: trust.tls(environment: environment)) }
            let listening = try ProxyListening(
                addresses: listen,
                sockets: socket,
                destination: destination,
                environment: environment
            )
            try destination?.check(ownPorts: listening.ports)
            let profiles = ProxyProfiles(
                search: ProfileSearch(explicitPaths: common.profile, environment: environment),
                options: ProxyRoutes.Options(servers: upstream, autoConfiguration: pac.map(Self.absolute), noProxy: noProxy),
                environment: environment,
                ownPorts: listening.ports
            )
            let (routes, source) = try profiles.routes(sso.profiles.flatMap(\.configurations))
            harden()
            Self.warn(about: routes, sso)
            if let destination { try Self.warn(about: destination, sso) }
            let service = Service(
                runtime: runtime,
                profiles: profiles,
                active: sso.profiles,
                signOn: ProxySignOn(sso, engine: common.engine, runtime: runtime),
                routes: CurrentRoutes(routes, source)
            )
            var configuration = ProxyConfiguration(listeners: listening.listeners, users: Set(admit.map(\.number)).union([geteuid()]))
            configuration.isUserInterfaceEnabled = true
            configuration.passesProxyAuthorization = passProxyAuthorization
            configuration.limits.idleTime = .seconds(idleTime)
            configuration.destination = destination
            try await service.run(configuration, isVerbose: common.isVerbose, environment: environment)
        }
    }

    private func harden() {
        ProcessProtection.forbidDumps()
        ProcessProtection.raiseFileLimit()
        signal(SIGPIPE, SIG_IGN)
    }

    /// A URL as it is, and a path from the root.
    private static func absolute(_ location: String) -> String {
        location.contains("://") ? location : URL(fileURLWithPath: location).path
    }

    /// Says which of the proxies get no ticket, because a request would fail with their status 407.
    private static func warn(about routes: ProxyRoutes, _ sso: SingleSignOn) {
        for server in routes.servers {
            guard let url = URL(string: "http://\(server)"), case .ignore(let reasons) = sso.decision(for: url, challenger: .proxy),
                let reason = reasons.first(where: { $0.verdict == .failed })
            else { continue }
            Console.report("warning: \(server) gets no ticket. \(reason.detail)")
        }
    }

    /// Says that the server of reverse mode gets no ticket.
    private static func warn(about destination: ReverseDestination, _ sso: SingleSignOn) throws {
        guard case .ignore(let reasons) = sso.decision(for: try checkedURL("\(destination.origin)/")),
            let reason = reasons.first(where: { $0.verdict == .failed })
        else { return }
        Console.report("warning: \(destination.origin) gets no ticket. \(reason.detail)")
    }
}

extension ProxyRun {
    /// The parts of a running proxy.
    fileprivate struct Service: Sendable {
        let runtime: RuntimeDirectory
        let profiles: ProxyProfiles
        /// The profiles at the start.
        let active: [Profile]
        let signOn: ProxySignOn
        let routes: CurrentRoutes

        /// Serves until a signal.
        func run(_ configuration: ProxyConfiguration, isVerbose: Bool, environment: [String: String]) async throws {
            let proxy = LocalProxy(
                configuration: configuration,
                credentials: try await AgentClient.connect(socketPath: runtime.apiSocket, fallback: signOn),
                routes: routes,
                logger: ProxyLog.logger(isVerbose: isVerbose)
            )
            let status = ProxyStatusSocket(in: runtime)
            let notification = ServiceNotification(environment: environment)
            let (requests, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            try await ProcessSignals.withSignals { signals in
                // The tasks that end the proxy return true.
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    group.addTask {
                        try await proxy.run { addresses in
                            Self.announce(addresses, configuration.destination)
                            notification.ready("listening on \(addresses.joined(separator: ", "))")
                        }
                        return true
                    }
                    group.addTask {
                        while await signals.next() == SIGHUP, !Console.hasTerminal { continuation.yield() }
                        notification.stopping()
                        return true
                    }
                    group.addTask { await isReplaced(proxy, environment: environment) }
                    group.addTask {
                        await status?.serve { await document(of: proxy, for: configuration.destination) }
                        return false
                    }
                    group.addTask {
                        await profiles.follow(from: active, signOn, routes, requests: requests)
                        return false
                    }
                    while let isEnd = try await group.next(), !isEnd {}
                    group.cancelAll()
                    try await group.waitForAll()
                }
            }
        }

        /// Waits until an upgrade has replaced the program and no client is connected. Then systemd starts the new program for the next
        /// client.
        ///
        /// - Returns: False if systemd does not do that, because it did not pass the sockets.
        private func isReplaced(_ proxy: LocalProxy, environment: [String: String]) async -> Bool {
            guard !InheritedSockets(environment: environment, processID: getpid()).descriptors.isEmpty, var program = ProgramFile() else {
                return false
            }
            while (try? await Task.sleep(for: .seconds(5))) != nil {
                if program.wasReplaced(), await proxy.status.openClients == 0 { return true }
            }
            return false
        }

        private func document(of proxy: LocalProxy, for destination: ReverseDestination?) async -> ProxyDocument {
            ProxyDocument(
                processID: getpid(),
                usesAgent: runtime.servesRequests,
                destination: destination?.origin.description,
                routes: routes.configured,
                status: await proxy.status
            )
        }

        private static func announce(_ addresses: [String], _ destination: ReverseDestination?) {
            let purpose = destination.map { " for \($0.origin)" } ?? ""
            Console.print("The proxy listens on \(addresses.joined(separator: ", "))\(purpose).")
            guard let address = addresses.first(where: { !$0.hasPrefix("/") }) else { return }
            guard destination == nil else { return Console.print("Open in a browser: http://\(address)/") }
            Console.print("To use it in a shell: export http_proxy=http://\(address) https_proxy=http://\(address)")
        }
    }
}

/// A user whose programs may use the proxy, by name or number.
struct AdmittedUser: ExpressibleByArgument {
    let number: UInt32

    init?(argument: String) {
        guard let number = UInt32(argument) ?? getpwnam(argument)?.pointee.pw_uid else { return nil }
        self.number = number
    }
}
