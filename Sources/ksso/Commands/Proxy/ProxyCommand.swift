internal import ArgumentParser
internal import CommandSupport
internal import Foundation
internal import NegotiateProxy
internal import SSOAgentClient
internal import SystemSupport

/// `ksso proxy`: the local proxy for programs that know no Kerberos.
struct ProxyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "proxy",
        abstract: "Run or inspect the local proxy, which signs in programs that know no Kerberos.",
        discussion: """
            EXAMPLES:
              ksso proxy run
              ksso proxy run --to https://intranet.corp.example
              ksso proxy status
            """,
        subcommands: [ProxyRun.self, ProxyStatusCommand.self]
    )
}

/// `ksso proxy status`: what the running proxies do.
struct ProxyStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Print where a local proxy listens, its upstream proxies, its tunnels and its last failures.",
        discussion: """
            Exits with status 1 if no proxy is running.

            EXAMPLES:
              ksso proxy status
              ksso proxy status --json
            """
    )

    @Flag(help: "Print one JSON document.")
    var json = false

    func run() async throws {
        let runtime = RuntimeDirectory(environment: ProcessInfo.processInfo.environment)
        let proxies = await ProxyStatusSocket.running(in: runtime)
        if json {
            try Console.printJSON(ProxyList(proxies: proxies))
        } else {
            for proxy in proxies { Self.show(proxy) }
        }
        guard proxies.isEmpty else { return }
        throw CommandFailure(.failed, json ? "" : "no local proxy is running in \(runtime.path). Start one with: ksso proxy run")
    }

    private static func show(_ document: ProxyDocument) {
        let status = document.status
        let places = status.listeners.joined(separator: ", ")
        let purpose = document.destination.map { " for \($0)" } ?? ""
        Console.print("The proxy listens on \(places)\(purpose): process \(document.processID), since \(status.startedAt.localText).")
        Console.print("    tickets: \(document.usesAgent ? "from the agent" : "from the default cache, because no agent is running")")
        Console.print("    routes: \(document.routes.sentence)")
        let open = "\(quantity(status.openTunnels, "tunnel")) open, \(quantity(status.openClients, "client")) connected"
        Console.print("    \(quantity(status.requests, "request")) and \(quantity(status.tunnels, "tunnel")) since the start; \(open)")
        for upstream in status.upstreams {
            let state = upstream.isReachable ? "reached" : "not reached"
            Console.print("    upstream \(upstream.server): \(state) \(upstream.checkedAt.localText)")
        }
        for failure in status.failures.prefix(5) {
            let host = failure.host.map { "\($0): " } ?? ""
            Console.print("    failure \(failure.date.localText): \(host)\(failure.message)")
        }
    }
}

/// The document of `ksso proxy status --json`.
private struct ProxyList: Encodable {
    let proxies: [ProxyDocument]
}
