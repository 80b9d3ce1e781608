import AsyncHTTPClient
import ExtensionProfile
import Foundation
import FoundationNetworking
import HTTPNegotiate
import Kerberos
import KerberosSSO
import KerberosTesting
import NIOCore
import NegotiateAsyncHTTPClient
import NegotiateURLSession
import SSOAgentClient
import Testing

extension InteroperabilityCell {
    /// Signs alice in with her password, using the cell's client, and fetches the page of the cell's server.
    ///
    /// - Parameter settings: Additional lines of the profile.
    /// - Returns: The text of the page.
    func greeting(of realm: TestRealm, password: String, settings: String = "") async throws -> String {
        let station = try Workstation(realm: realm)
        let profile = try station.install("\(profile(realm: realm.name))\(settings)\n")
        return try await withServer(in: realm) { url in
            switch client {
            case .inProcess: try await station.fetchInProcess(url, profile: profile, password: password)
            case .agent: try await station.fetchByAgent(url, password: password)
            case .curl: try await station.fetchByCurl(url, password: password)
            case .urlSession: try await station.fetchByURLSession(url, profile: profile, password: password)
            }
        }
    }

    private func withServer(in realm: TestRealm, _ body: (String) async throws -> String) async throws -> String {
        switch server {
        case .apache: try await withProtectedWebServer(realm: realm) { try await body("\($0.url)/hello") }
        case .acceptor: try await withAcceptorServer(realm: realm) { try await body("\($0.url)/hello") }
        }
    }
}

extension Workstation {
    /// Fetches in this process, which holds the tickets and creates the tokens itself.
    fileprivate func fetchInProcess(_ url: String, profile: String, password: String) async throws -> String {
        try await text(url, signedBy: signedIn(profile: profile, password: password))
    }

    /// Fetches through an agent, which holds the tickets and creates the tokens.
    fileprivate func fetchByAgent(_ url: String, password: String) async throws -> String {
        try await withServingAgent(at: self) {
            try await signInByCommand(password)
            return try await text(url, signedBy: AgentClient.connect(socketPath: "\(runtime)/agent.sock"))
        }
    }

    /// Fetches with an unmodified curl, whose cache is the agent's.
    fileprivate func fetchByCurl(_ url: String, password: String) async throws -> String {
        try await withServingAgent(at: self) {
            try await signInByCommand(password)
            let list = try await run(["ksso", "exec", "--", "klist"])
            try #require(list.output.hasPrefix("Ticket cache: KCM:"), "\(list)")
            let page = try await run(["ksso", "exec", "--", "curl", "-sS", "--negotiate", "-u", ":", url])
            try #require(page.exitStatus == 0, "\(page)")
            return page.output
        }
    }

    /// Fetches in this process with Foundation's own client.
    fileprivate func fetchByURLSession(_ url: String, profile: String, password: String) async throws -> String {
        let sso = try await signedIn(profile: profile, password: password)
        let session = NegotiatingURLSession(extension: sso, unboundTLS: .allowed)
        defer { session.invalidateAndCancel() }
        return String(decoding: try await session.data(from: #require(URL(string: url))).0, as: UTF8.self)
    }

    private func signedIn(profile: String, password: String) async throws -> SingleSignOn {
        var settings = SingleSignOn.Settings()
        settings.base = .files([realm.configurationPath])
        settings.defaultCacheName = cache
        settings.environment = ["KSSO_RUNTIME_DIR": runtime]
        let sso = try await SingleSignOn(.inProcess(try Profile(contentsOf: profile)), settings: settings)
        try await sso.signIn("alice", using: .password(Secret(password)))
        return sso
    }

    private func signInByCommand(_ password: String) async throws {
        let login = try await ksso("login", "alice", "--password-stdin", "--quiet", input: "\(password)\n")
        try #require(login.exitStatus == 0, "\(login)")
    }

    private func text(_ url: String, signedBy credentialExtension: any CredentialExtension) async throws -> String {
        try await NegotiatingHTTPClient.withClient(extension: credentialExtension) { http in
            let response = try await http.execute(HTTPClientRequest(url: url))
            return String(buffer: try await response.body.collect(upTo: 1 << 16))
        }
    }
}
