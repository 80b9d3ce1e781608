internal import SystemSupport

/// Evaluates PAC files in processes of their own, which are started when they are needed and killed when they exceed the time limit.
///
/// ```swift
/// let evaluator = PACEvaluator(PACWorkerProgram(path: OwnProgram.executable))
/// let routes = PACRoutes(PACSource(try PACLocation("http://wpad.corp.example/proxy.pac")), evaluator)
/// ```
///
/// A process answers one question at a time, in microseconds unless the script asks DNS. A question waits for a process if all are
/// busy.
package actor PACEvaluator {
    /// The limits of the evaluation.
    package struct Limits: Sendable {
        /// The time for one evaluation, including the questions to DNS, and for loading the script.
        package var time = Duration.seconds(5)
        /// The greatest number of processes.
        package var processes = 4
        /// The greatest number of questions that wait for a process; more fail at once.
        package var waiting = 256

        /// Creates the default limits.
        package init() {}
    }

    /// A process that has loaded a script.
    private struct Worker {
        let process: PACWorkerProcess
        let script: PACScript
    }

    /// The processes without a question that are kept.
    private static let spare = 2

    private let program: PACWorkerProgram
    private let limits: Limits
    private var idle: [Worker] = []
    private var processes = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []
    /// What the last process that was started has given up.
    private(set) var restrictions: [ProcessRestriction] = []

    /// Creates an evaluator without a process.
    package init(_ program: PACWorkerProgram, limits: Limits = Limits()) {
        (self.program, self.limits) = (program, limits)
    }

    /// Calls FindProxyForURL and returns what it returned.
    ///
    /// - Parameter location: The PAC file, for errors.
    func answer(url: String, host: String, _ script: PACScript, from location: PACLocation) async throws(RoutingError) -> String {
        let worker = try await lease(script, location)
        let (process, limit) = (worker.process, limits.time)
        let outcome = await BlockingCall.run { process.exchange(PACRequest(url: url, host: host), within: limit) }
        // An engine that has run out of memory may fail at the next question too.
        if case .reply(let reply) = outcome, reply.answer != nil, idle.count < Self.spare { idle.append(worker) } else { processes -= 1 }
        wakeNext()
        switch outcome {
        case .reply(let reply):
            if let answer = reply.answer { return answer }
            let reason = (reply.failure ?? "").escapedForDisplay(limit: 300)
            throw RoutingError("The PAC file \(location) failed for \(host) (\(reason)): correct its function FindProxyForURL.")
        case .timeout:
            let time = "within \(limit.components.seconds) seconds"
            let remedy = "correct its function FindProxyForURL, or check the DNS servers that it asks."
            throw RoutingError("The PAC file \(location) returned nothing for \(host) \(time): \(remedy)")
        case .failure:
            let reason = "stopped the process that evaluated it for \(host), as a script does that uses too much memory"
            throw RoutingError("The PAC file \(location) \(reason): correct its function FindProxyForURL.")
        }
    }

    /// Takes a process that has loaded the script, or starts one.
    private func lease(_ script: PACScript, _ location: PACLocation) async throws(RoutingError) -> Worker {
        while idle.isEmpty, processes >= limits.processes {
            guard waiting.count < limits.waiting else {
                throw RoutingError("Too many requests wait for the PAC file \(location): try again later.")
            }
            await withCheckedContinuation { waiting.append($0) }
        }
        if let worker = idle.popLast() {
            if worker.script == script { return worker }
            processes -= 1
        }
        processes += 1
        do throws(RoutingError) {
            return try await start(script, location)
        } catch {
            processes -= 1
            wakeNext()
            throw error
        }
    }

    private func wakeNext() {
        if !waiting.isEmpty { waiting.removeFirst().resume() }
    }

    private func start(_ script: PACScript, _ location: PACLocation) async throws(RoutingError) -> Worker {
        let (program, limit) = (program, limits.time)
        let started = await BlockingCall.run { () -> Result<(PACWorkerProcess, PACWorkerProcess.Outcome), RoutingError> in
            Result { () throws(RoutingError) in
                let process = try PACWorkerProcess(program)
                return (process, process.exchange(PACRequest(script: script.text), within: limit))
            }
        }
        let (process, outcome) = try started.get()
        guard case .reply(let reply) = outcome else {
            let reason = "The process that evaluates the PAC file \(location) did not load it within \(limit.components.seconds) seconds"
            throw RoutingError("\(reason): correct the statements outside of its functions.")
        }
        guard reply.lacksEngine != true else {
            let reason = "cannot be evaluated, because \(PACEngine.library) cannot be loaded"
            throw RoutingError("The PAC file \(location) \(reason): install the package libpacparser1.")
        }
        guard reply.lacksRestrictions != true else {
            let reason = "is not evaluated, because this system cannot restrict the process that would do it (seccomp)"
            throw RoutingError("The PAC file \(location) \(reason): list the proxies in ProxyServers of the profile instead.")
        }
        if let failure = reply.failure {
            throw RoutingError("The PAC file \(location) is not valid (\(failure.escapedForDisplay(limit: 300))): correct it.")
        }
        restrictions = reply.restrictions ?? []
        return Worker(process: process, script: script)
    }
}
