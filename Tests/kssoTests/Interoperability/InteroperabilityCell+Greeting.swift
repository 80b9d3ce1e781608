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
import TestSupport
import Testing

/// What proves alice's identity.
enum SignInProof {
    case password(String)
    /// A certificate in files, and the card that contains it too. libkrb5's module for cards is configured by a variable, so that only
    /// `ksso`, a process of its own, reads the card.
    case certificate(ClientCertificate, SmartCard)
}

extension InteroperabilityCell {
    /// Signs alice in, using the cell's client, and fetches the page of the cell's server.
    ///
    /// - Parameter settings: Additional lines of the profile.
    /// - Returns: The text of the page.
    func greeting(of realm: TestRealm, with proof: SignInProof, settings: String = "") async throws -> String {
        let station = try Workstation(realm: realm)
        let profile = try station.install("\(profile(realm: realm.name))\(settings)\n")
        return try await withServer(in: realm) { url in
            switch client {
            case .inProcess: try await station.fetchInProcess(url, profile: profile, with: proof)
            case .agent: try await station.fetchByAgent(url, with: proof)
            case .curl: try await station.fetchByCurl(url, with: proof)
            case .urlSession: try await station.fetchByURLSession(url, profile: profile, with: proof)
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
    fileprivate func fetchInProcess(_ url: String, profile: String, with proof: SignInProof) async throws -> String {
        try await text(url, signedBy: signedIn(profile: profile, with: proof))
    }

    /// Fetches through an agent, which holds the tickets and creates the tokens.
    fileprivate func fetchByAgent(_ url: String, with proof: SignInProof) async throws -> String {
        try await withServingAgent(at: self) {
            try await signInByCommand(proof)
            return try await text(url, signedBy: AgentClient.connect(socketPath: "\(runtime)/agent.sock"))
        }
    }

    /// Fetches with an unmodified curl, whose cache is the agent's.
    fileprivate func fetchByCurl(_ url: String, with proof: SignInProof) async throws -> String {
        try await withServingAgent(at: self) {
            try await signInByCommand(proof)
            let list = try await run(["ksso", "exec", "--", "klist"])
            try #require(list.output.hasPrefix("Ticket cache: KCM:"), "\(list)")
            let page = try await run(["ksso", "exec", "--", "curl", "-sS", "--negotiate", "-u", ":", url])
            try #require(page.exitStatus == 0, "\(page)")
            return page.output
        }
    }

    /// Fetches in this process with Foundation's own client.
    fileprivate func fetchByURLSession(_ url: String, profile: String, with proof: SignInProof) async throws -> String {
        let sso = try await signedIn(profile: profile, with: proof)
        let session = NegotiatingURLSession(extension: sso, unboundTLS: .allowed)
        defer { session.invalidateAndCancel() }
        return String(decoding: try await session.data(from: #require(URL(string: url))).0, as: UTF8.self)
    }

    private func signedIn(profile: String, with proof: SignInProof) async throws -> SingleSignOn {
        var settings = SingleSignOn.Settings()
        settings.base = .files([realm.configurationPath])
        settings.defaultCacheName = cache
        settings.environment = ["KSSO_RUNTIME_DIR": runtime]
        let sso = try await SingleSignOn(.inProcess(try Profile(contentsOf: profile)), settings: settings)
        switch proof {
        case .password(let password): try await sso.signIn("alice", using: .password(Secret(password)))
        case .certificate(let certificate, _): try await sso.signIn("alice", using: .certificate(certificate.identity, RefusingPrompter()))
        }
        return sso
    }

    private func signInByCommand(_ proof: SignInProof) async throws {
        let words = ["ksso", "login", "alice", "--password-stdin", "--quiet"]
        let login =
            switch proof {
            case .password(let password): try await run(words, input: "\(password)\n")
            case .certificate(_, let card):
                try await run(words + ["--certificate", card.identity()], input: "\(SmartCard.pin)\n", environment: card.environment)
            }
        try #require(login.exitStatus == 0, "\(login)")
    }

    private func text(_ url: String, signedBy credentialExtension: any CredentialExtension) async throws -> String {
        try await NegotiatingHTTPClient.withClient(extension: credentialExtension) { http in
            let response = try await http.execute(HTTPClientRequest(url: url))
            return String(buffer: try await response.body.collect(upTo: 1 << 16))
        }
    }
}
