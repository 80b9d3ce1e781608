internal import Foundation
internal import SSOAgentClient

/// Whether the session's set-up is complete, and in force in this process.
struct SessionCheck {
    struct Result {
        let isGood: Bool
        let text: String
    }

    let setUp: SessionSetUp

    init(_ setUp: SessionSetUp) { self.setUp = setUp }

    func results() -> [Result] {
        let runtime = RuntimeDirectory(environment: setUp.environment)
        let names = (setUp.environment["KRB5_CONFIG"] ?? "").split(separator: ":")
        var results = [setUp.environmentFile, setUp.profile].map { file in
            Result(isGood: file.isInstalled, text: "\(file.path)\(file.isInstalled ? "" : ": ksso configure session --install writes it")")
        }
        let serves = runtime.isServed
        results.append(
            Result(isGood: serves, text: serves ? "an agent serves in \(runtime.path)" : "an agent: ksso agent run --background")
        )
        let isNamed = names.contains { $0 == runtime.sessionConfiguration }
        results.append(Result(isGood: isNamed, text: "\(runtime.sessionConfiguration) in KRB5_CONFIG\(isNamed ? "" : ": log in again")"))
        if let name = setUp.environment["KRB5CCNAME"] {
            let text = "KRB5CCNAME is \(name), which comes before the agent's caches: unset it, or see who sets it"
            results.append(Result(isGood: name.hasPrefix("KCM:"), text: text))
        }
        return results
    }
}
