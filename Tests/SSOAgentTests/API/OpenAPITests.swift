import Foundation
import HTTPNegotiate
import HTTPTypes
import KerberosEngine
import SSOAgentClient
import SignOnPolicy
import TestSupport
import Testing

@testable import SSOAgent

/// Whether `openapi.yaml` documents every route of the API and every field of its documents.
@Suite struct OpenAPITests {
    private static let text: String = {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return (try? String(contentsOf: package.appending(path: "Sources/SSOAgent/openapi.yaml"), encoding: .utf8)) ?? ""
    }()

    /// The names with an indentation below a heading, up to the next line that is indented no more than the heading.
    private func names(below heading: String, indent: Int) -> [String] {
        let lines = Self.text.components(separatedBy: "\n")
        guard let start = lines.firstIndex(of: heading) else { return [] }
        let depth = heading.prefix { $0 == " " }.count
        return lines[(start + 1)...].prefix { line in line.prefix { $0 == " " }.count > depth }
            .filter { line in line.prefix { $0 == " " }.count == indent }
            .compactMap { $0.split(separator: ":").first.map { $0.trimmingCharacters(in: .whitespaces) } }
    }

    private func audience(of method: String, _ path: String) -> String {
        let lines = Self.text.components(separatedBy: "\n")
        let operation = lines.drop { $0 != "  \(path):" }.drop { $0 != "    \(method):" }.dropFirst()
        let line = operation.first { $0.hasPrefix("      x-audience: ") || !$0.hasPrefix("      ") } ?? ""
        return String(line.dropFirst("      x-audience: ".count))
    }

    @Test func `openapi.yaml documents exactly the routes of the API and their audiences`() {
        let documented = names(below: "paths:", indent: 2).flatMap { path in
            names(below: "  \(path):", indent: 4).filter { $0 != "parameters" }.map { method in
                "\(method.uppercased()) \(path) \(audience(of: method, path))"
            }
        }
        let table = AgentAPI.operations(of: AgentAPI.unconfigured()).map { "\($0.method.rawValue) \($0.path) \($0.audience.rawValue)" }
        #expect(Set(documented) == Set(table))
        #expect(documented.count == 15)
    }

    /// The page for programs in other languages.
    @Test func `the documentation lists every route with its audience and its summary`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = root.appending(path: "Sources/SSOAgentClient/SSOAgentClient.docc/AgentAPI.md")
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter { $0.contains(" /v1/") && $0.hasPrefix("|") }
        let documented = rows.map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
        let expected = names(below: "paths:", indent: 2).flatMap { path in
            names(below: "  \(path):", indent: 4).filter { $0 != "parameters" }.map { method in
                ["`\(method.uppercased()) \(path)`", audience(of: method, path), summary(of: method, path)]
            }
        }
        #expect(documented == expected)
    }

    private func summary(of method: String, _ path: String) -> String {
        let lines = Self.text.components(separatedBy: "\n")
        let operation = lines.drop { $0 != "  \(path):" }.drop { $0 != "    \(method):" }.dropFirst()
        let line = operation.first { $0.hasPrefix("      summary: ") || !$0.hasPrefix("      ") } ?? ""
        return String(line.dropFirst("      summary: ".count))
    }

    @Test(arguments: [
        ("AuthorizeRequest", fields(AuthorizeRequest(url: ""))),
        ("AuthorizeReply", fields(AuthorizeReply(outcome: .completed))),
        ("AuthorizationReply", fields(AuthorizationReply(userPrincipalName: "", realm: "", ticketExpires: .distantPast, cache: ""))),
        ("ContinueRequest", fields(ContinueRequest(token: Data()))),
        ("ContinueReply", fields(ContinueReply(step: .send))),
        ("RefusalReply", fields(RefusalReply(isReplaced: true))),
        ("IdentityReply", fields(IdentityReply(nil))),
        ("LoginRequest", LoginRequest.CodingKeys.allCases.map(\.stringValue)),
        ("SessionSelection", fields(SessionSelection())),
        ("SessionsReply", fields(SessionsReply(sessions: []))),
        ("SignOutDocument", fields(SignOutDocument(ended: [], left: []))),
        ("PasswordRequest", ["principal", "realm", "password", "newPassword"]),
        (
            "PasswordChangeDocument",
            fields(PasswordChangeDocument(principal: "", passwordChanged: .distantPast, passwordExpires: nil))
        ),
        ("StatusDocument", fields(StatusDocument(sessions: []))),
        ("Service", fields(StatusDocument.Service(service: "", expires: .distantPast))),
        ("Process", fields(StatusDocument.Process(processID: 0, started: .distantPast))),
        ("Message", fields(StatusDocument.Message(date: .distantPast, text: "", isFailure: false))),
        ("Session", fields(Self.session)),
        ("ExplanationDocument", fields(ExplanationDocument(url: "", plan: nil, principal: nil, servicePrincipal: nil, reasons: []))),
        ("DecisionReason", fields(DecisionReason(rule: "", verdict: .passed, detail: ""))),
        ("AgentEvent", fields(AgentEvent(.signedOut, realm: "", date: .distantPast))),
        ("ConfigurationReply", fields(ConfigurationReply(version: "", configurations: []))),
        ("ExtensionConfiguration", try configurationFields()),
        ("AgentProblem", fields(AgentProblem(status: 0, title: "", code: "", detail: ""))),
    ])
    func `openapi.yaml documents exactly the fields of each document`(schema: String, fields: [String]) {
        let lines = Self.text.components(separatedBy: "\n")
        let start = lines.firstIndex(of: "    \(schema):") ?? lines.endIndex
        let documented = lines[start...].dropFirst().prefix { $0.hasPrefix("     ") }
            .filter { line in line.prefix { $0 == " " }.count == 8 }
            .compactMap { $0.split(separator: ":").first.map { $0.trimmingCharacters(in: .whitespaces) } }
        #expect(documented == fields)
    }

    /// The fields of a configuration that every client gets. One pattern describes the lists of hosts.
    private static func configurationFields() throws -> [String] {
        let fields = try ExtensionConfiguration.withEveryField().forPeers.fields(withDefault: false)
        #expect(fields.filter { $0.hasSuffix("Hosts") }.count == HostList.all.count)
        return fields.filter { !$0.hasSuffix("Hosts") } + [#""Hosts$""#]
    }

    @Test func `openapi.yaml documents every kind of credential`() throws {
        let line = try #require(Self.text.components(separatedBy: "\n").first { $0.hasPrefix("        acquiredBy: ") })
        let names = try #require(line.firstMatch(of: /enum: \[(.*)\]/)).1.split(separator: ", ").map(String.init)
        #expect(names == Session.Acquisition.names)
    }

    private static let session = StatusDocument.Session(
        realm: "",
        principal: "",
        isDefault: false,
        signedIn: false,
        acquiredBy: "",
        cache: "",
        ticketExpires: .distantPast,
        renewUntil: nil,
        passwordExpires: nil,
        services: []
    )

    /// The stored properties, whose names are the keys.
    private static func fields(_ value: Any) -> [String] { Mirror(reflecting: value).children.compactMap(\.label) }
}

extension AgentAPI {
    /// An API without any configuration.
    ///
    /// - Parameter acceptFailure: Receives why connections cannot be accepted, and nil when they are accepted again.
    static func unconfigured(acceptFailure: @escaping @Sendable (String?) -> Void = { _ in }) -> AgentAPI {
        AgentAPI(
            CurrentExtension(.init(.init(configurations: []))),
            delegate: IdleAgent(acceptFailure: acceptFailure),
            events: EventHub()
        )
    }
}

/// An agent that has nothing to do.
private struct IdleAgent: AgentAPIDelegate {
    let acceptFailure: @Sendable (String?) -> Void

    var isScreenLocked: Bool { false }

    func processStatus() async -> StatusDocument.Process { .init(processID: 0, started: .distantPast) }
    func stop() {}
    func sessionsChanged() {}
    func hasSignedIn(realm: String, principal: String?) async -> Bool { false }
    func noteUse(of principal: String) {}
    func acceptsConnections(failure reason: String?) { acceptFailure(reason) }
}
