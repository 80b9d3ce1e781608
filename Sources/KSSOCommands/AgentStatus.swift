internal import ArgumentParser
internal import Foundation
internal import SSOAgentClient

struct AgentStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Say whether an agent runs, and what it holds.",
        discussion: "Ends with 1 when none runs. Who is signed in: ksso status."
    )

    @Flag(help: "Print one JSON document.")
    var json = false

    func run() async throws {
        let runtime = RuntimeDirectory(environment: ProcessInfo.processInfo.environment)
        let document = try await RunningAgent(runtime).status()
        if json { return try Console.printJSON(document) }
        guard let process = document.process else { return }
        let loss = document.cacheMode == "agent" && !runtime.servesCaches ? runtime.loss(of: .caches) : nil
        let state = loss == nil ? "serves in" : "runs, but programs can't reach its tickets, in"
        Console.print("The agent \(state) \(runtime.path): process \(process.processID), since \(Console.text(process.started)).")
        if let loss { Console.print("    \(loss.fault). \(loss.remedy)") }
        if document.cacheMode == "agent" {
            let caches = process.caches ?? 0
            Console.print("    \(process.tickets ?? 0) tickets in \(caches) credential \(caches == 1 ? "cache" : "caches")")
            Console.print("    \(process.cacheConnections ?? 0) connections to them, \(process.connections) to its API")
        } else {
            Console.print("    it renews the tickets of the system's default cache; \(process.connections) connections to its API")
        }
        if let failure = document.failure { Console.print("    the sessions are not known: \(failure)") }
        if let date = process.profilesRead {
            let files = process.profiles ?? []
            Console.print("    profiles read \(Console.text(date)): \(files.isEmpty ? "none" : files.joined(separator: ", "))")
        }
        if let failure = process.messages?.last(where: \.isFailure) {
            Console.print("    last failure \(Console.text(failure.date)): \(failure.text)")
        }
        if let log = process.log { Console.print("    log: \(log)") }
    }
}
