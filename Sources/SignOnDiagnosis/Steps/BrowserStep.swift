internal import Foundation
internal import SignOnPolicy

extension DiagnosticStep {
    /// Checks whether the browsers on this machine would send a ticket to the host.
    static let browsers = DiagnosticStep.check("browser") { findings in
        guard let plan = findings.server.plan else { return .nothing }
        let browsers = Browser.all.filter { $0.isInstalled(environment: findings.subject.environment) }
        guard !browsers.isEmpty else { return .skipped("no browser is installed here.") }
        let refusing = browsers.filter { !$0.allows(plan.origin.host) }
        guard !refusing.isEmpty else { return .ok("\(browsers.map(\.name).joined(separator: ", ")): the policy allows the host.") }
        return .warning(
            "\(refusing.map(\.name).joined(separator: ", ")): no policy allows \(plan.origin.host), so the browser sends no ticket.",
            remedy: refusing.map { $0.remedy(for: plan.origin.host) }.joined(separator: "\n    ")
        )
    }
}

/// A browser and the location of its policy.
struct Browser: Sendable {
    let name: String
    let programs: [String]
    /// The folders of its policies, in order of preference for a new file.
    let policies: [String]
    /// The key of the allowed hosts in a policy document.
    let key: String
    /// The name of a new policy file with the key.
    let file: String
    /// A document that allows a host.
    let document: @Sendable (_ host: String) -> String
    /// Returns the hosts that a policy document allows; nil if it does not have the key.
    let allowed: @Sendable ([String: Any]) -> [String]?

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
            ],
            key: "Authentication.SPNEGO",
            file: "policies.json",
            document: { #"{"policies": {"Authentication": {"SPNEGO": ["\#($0)"]}}}"# },
            allowed: { document in
                let policies = document["policies"] as? [String: Any]
                return (policies?["Authentication"] as? [String: Any])?["SPNEGO"] as? [String]
            }
        ),
    ]

    private static func chromium(_ name: String, _ programs: [String], _ policies: [String]) -> Browser {
        let key = "AuthServerAllowlist"
        return Browser(
            name: name,
            programs: programs,
            policies: policies,
            key: key,
            file: "kerberos.json",
            document: { #"{"\#(key)": "\#($0)"}"# },
            allowed: { document in
                (document[key] as? String)?.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            }
        )
    }

    func isInstalled(environment: [String: String]) -> Bool {
        let folders = (environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        return folders.contains { folder in programs.contains { access("\(folder)/\($0)", X_OK) == 0 } }
    }

    func allows(_ host: String) -> Bool {
        files.compactMap { Self.content($0).flatMap(allowed) }.joined().contains { Self.covers($0.lowercased(), host) }
    }

    /// Returns how to allow a host: the file to change, or a new file with its content.
    func remedy(for host: String) -> String {
        if let file = files.first(where: { Self.content($0).flatMap(allowed) != nil }) {
            return "\(name): add \(host) to \(key) in \(file)"
        }
        // Firefox reads only one file, which may have other policies.
        if let file = files.first(where: { $0.hasSuffix("/\(self.file)") }) {
            return "\(name): add \(key) to \(file), as in \(document(host))"
        }
        let folder = policies.first { access($0, F_OK) == 0 } ?? policies[0]
        return "\(name): write \(folder)/\(file): \(document(host))"
    }

    /// The policy files.
    private var files: [String] {
        policies.flatMap { folder in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.filter { $0.hasSuffix(".json") }.sorted().map { "\(folder)/\($0)" }
        }
    }

    private static func content(_ path: String) -> [String: Any]? {
        guard let data = FileManager.default.contents(atPath: path) else { return nil }
        return (try? JSONSerialization.jsonObject(with: data)) as? [String: Any]
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
