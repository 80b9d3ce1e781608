internal import Foundation
internal import KerberosSSO
internal import SSOAgentClient

/// Checks whether the session's configuration is complete, and active in this process.
struct SessionCheck {
    struct Result {
        let isGood: Bool
        let text: String
    }

    let setUp: SessionSetUp

    init(_ setUp: SessionSetUp) { self.setUp = setUp }

    private func result(of file: MarkedFile, isInstalled: Bool) -> Result {
        Result(isGood: isInstalled, text: "\(file.path)\(isInstalled ? "" : ": ksso configure session --install writes it")")
    }

    /// Another path of the program is acceptable as long as it is executable.
    private func profileResult() -> Result {
        guard let program = setUp.calledProgram else { return result(of: setUp.profile, isInstalled: setUp.profile.isInstalled) }
        if program.hasPrefix("/"), !OwnProgram.isExecutable(program) {
            let text = "\(setUp.profile.path) calls \(program), which does not exist: ksso configure session --install fixes it"
            return Result(isGood: false, text: text)
        }
        let accepted = program.hasPrefix("/") ? setUp.profile(calling: program) : setUp.profile
        return result(of: setUp.profile, isInstalled: accepted.isInstalled)
    }

    private func agentResult(_ runtime: RuntimeDirectory) async -> Result {
        guard runtime.isServed else { return Result(isGood: false, text: "an agent: ksso agent run --background") }
        if let listener = await RunningAgent(runtime).silent() {
            return Result(isGood: false, text: "an agent that answers: \(listener.silence)")
        }
        if let loss = await runtime.cacheLoss() {
            return Result(isGood: false, text: "an agent whose tickets programs can reach: \(loss.fault). \(loss.remedy)")
        }
        return Result(isGood: true, text: "an agent serves in \(runtime.path)")
    }

    func results() async -> [Result] {
        let runtime = RuntimeDirectory(environment: setUp.environment)
        let names = (setUp.environment["KRB5_CONFIG"] ?? "").split(separator: ":")
        var results = [result(of: setUp.environmentFile, isInstalled: setUp.environmentFile.isInstalled), profileResult()]
        results.append(await agentResult(runtime))
        let isNamed = names.contains { $0 == runtime.sessionConfiguration }
        results.append(Result(isGood: isNamed, text: "\(runtime.sessionConfiguration) in KRB5_CONFIG\(isNamed ? "" : ": log in again")"))
        if let name = setUp.environment["KRB5CCNAME"] {
            let isAgents = name.hasPrefix("KCM:")
            let effect = isAgents ? "selects a cache of the agent" : "overrides the agent's caches: unset it, or find what sets it"
            results.append(Result(isGood: isAgents, text: "KRB5CCNAME is \(name), which \(effect)"))
        }
        return results
    }
}
