internal import Foundation
internal import SignOnPolicy

extension DiagnosticStep {
    /// Checks whether the browsers on this machine would send a ticket to the host.
    static let browsers = DiagnosticStep.check("browser") { findings in
        guard let plan = findings.server.plan else { return .nothing }
        let browsers = Browser.all.filter { $0.isInstalled(environment: findings.subject.environment) }
        guard !browsers.isEmpty else { return .skipped("no browser is installed here.") }
        let refusing = browsers.filter { !$0.allows(plan.origin.host) }.map(\.name)
        guard !refusing.isEmpty else { return .ok("\(browsers.map(\.name).joined(separator: ", ")): the policy allows the host.") }
        return .warning(
            "\(refusing.joined(separator: ", ")): no policy allows \(plan.origin.host), so the browser sends no ticket.",
            remedy:
                "Add the host to AuthServerAllowlist in a policy file of Chromium-based browsers, "
                + "or to Authentication.SPNEGO in Firefox's policies.json."
        )
    }
}

/// A browser and the location of its policy.
struct Browser: Sendable {
    let name: String
    let programs: [String]
    let policies: [String]
    /// Returns the hosts that a policy document allows.
    let allowed: @Sendable ([String: Any]) -> [String]

    static let all: [Browser] = [
        chromium(
            "Chromium",
            ["chromium", "chromium-browser"],
            ["/etc/chromium/policies/managed", "/etc/chromium-browser/policies/managed"]
        ),
        chromium("Chrome", ["google-chrome", "google-chrome-stable"], ["/etc/opt/chrome/policies/managed"]),
        chromium("Edge", ["microsoft-edge", "microsoft-edge-stable"], ["/etc/opt/edge/policies/managed"]),
        Browser(
            name: "Firefox",
            programs: ["firefox", "firefox-esr"],
            policies: [
                "/etc/firefox/policies", "/etc/firefox-esr/policies", "/usr/lib/firefox/distribution", "/usr/lib/firefox-esr/distribution",
            ]
        ) { document in
            let policies = document["policies"] as? [String: Any]
            return (policies?["Authentication"] as? [String: Any])?["SPNEGO"] as? [String] ?? []
        },
    ]

    private static func chromium(_ name: String, _ programs: [String], _ policies: [String]) -> Browser {
        Browser(name: name, programs: programs, policies: policies) { document in
            let list = document["AuthServerAllowlist"] as? String ?? ""
            return list.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    func isInstalled(environment: [String: String]) -> Bool {
        let folders = (environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        return folders.contains { folder in programs.contains { access("\(folder)/\($0)", X_OK) == 0 } }
    }

    func allows(_ host: String) -> Bool { documents.flatMap(allowed).contains { Self.covers($0.lowercased(), host) } }

    private var documents: [[String: Any]] {
        policies.flatMap { folder -> [[String: Any]] in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.filter { $0.hasSuffix(".json") }.compactMap { name -> [String: Any]? in
                guard let data = FileManager.default.contents(atPath: "\(folder)/\(name)") else { return nil }
                return (try? JSONSerialization.jsonObject(with: data)) as? [String: Any]
            }
        }
    }

    /// Returns whether a policy's entry covers a host. Chromium writes `*.example.com` and `*`; Firefox writes `example.com`,
    /// `.example.com` and `https://example.com`.
    static func covers(_ entry: String, _ host: String) -> Bool {
        let entry = entry.split(separator: "/").last.map(String.init) ?? entry
        if entry == "*" || entry == host { return true }
        let suffix = entry.hasPrefix("*") ? String(entry.dropFirst()) : entry
        return host.hasSuffix(suffix.hasPrefix(".") ? suffix : ".\(suffix)")
    }
}
