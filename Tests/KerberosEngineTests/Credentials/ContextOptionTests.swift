import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

/// How the profile and the caller choose a context's channel bindings and mutual authentication.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]), .timeLimit(.minutes(15)))
struct ContextOptionTests {
    private static let certificate = Array("tls-server-end-point:one".utf8)
    private static let bindings = ChannelBindings(applicationData: certificate)
    private let origin = "https://www.example.test"

    private func makeHome() async throws -> CacheHome {
        var home = try CacheHome(try #require(TestRealm.current))
        home.options.configurations[0].plainHTTPHosts = [try HostRule("www.example.test")]
        try await home.makeExtension().signIn("alice", using: .secret)
        return home
    }

    // MARK: Channel bindings

    @Test func `a token is bound to the server's certificate`() async throws {
        let home = try await makeHome()
        let token = try await home.makeExtension().grant(origin: origin, channelBindings: Self.certificate).token
        #expect(try Acceptance(token, keytab: home.realm.keytabPath, channelBindings: Self.bindings).flags.contains(.channelBound))
        let another = ChannelBindings(applicationData: Array("tls-server-end-point:two".utf8))
        let error = await kerberosError { try Acceptance(token, keytab: home.realm.keytabPath, channelBindings: another) }
        #expect(error?.code == .channelBindingsDiffer)
    }

    @Test func `a host in noChannelBindingHosts gets a token without channel bindings`() async throws {
        var home = try await makeHome()
        home.options.configurations[0].noChannelBindingHosts = [try HostRule("www.example.test")]
        let token = try await home.makeExtension().grant(origin: origin, channelBindings: Self.certificate).token
        // Behind a proxy that terminates TLS, the server has another certificate than the client sees.
        let another = ChannelBindings(applicationData: Array("tls-server-end-point:two".utf8))
        #expect(try !Acceptance(token, keytab: home.realm.keytabPath, channelBindings: another).flags.contains(.channelBound))
    }

    @Test func `a token for plain HTTP has no channel bindings`() async throws {
        let home = try await makeHome()
        let token = try await home.makeExtension().grant(origin: "http://www.example.test", channelBindings: Self.certificate).token
        #expect(try !Acceptance(token, keytab: home.realm.keytabPath, channelBindings: Self.bindings).flags.contains(.channelBound))
    }

    /// A token captured on plain HTTP and replayed over HTTPS: an acceptor with bindings rejects it if the token declares that the client
    /// supports bindings. libkrb5 1.20 sets that only from `client_aware_channel_bindings` in the process's krb5.conf; without it, only an
    /// acceptor that requires bindings rejects the token, by the missing flag.
    @Test(.exitTest, arguments: [true, false])
    func `a token captured on plain HTTP is useless over HTTPS`(isAware: Bool) async throws {
        let home = try await makeHome()
        let file = "\(home.directory)/token"
        let setting = "\(home.directory)/aware.conf"
        try "[libdefaults]\n    client_aware_channel_bindings = \(isAware)\n".write(toFile: setting, atomically: true, encoding: .utf8)
        let client = try ClientProcess(home, configurationPath: "\(setting):\(home.realm.configurationPath)")
        await #expect(processExitsWith: .success) { [client = client as ClientProcess, file = file as String] in
            client.begin()
            try Data(try await client.makeExtension().grant(origin: "http://www.example.test").token).write(to: URL(filePath: file))
            endChildProcess()
        }
        let token = try Array(Data(contentsOf: URL(filePath: file)))
        let keytab = home.realm.keytabPath
        #expect(try Acceptance(token, keytab: keytab).service == "HTTP/www.example.test@EXAMPLE.TEST", "over plain HTTP")
        if isAware {
            let error = await kerberosError { try Acceptance(token, keytab: keytab, channelBindings: Self.bindings) }
            #expect(error?.code == .channelBindingsDiffer)
        } else {
            let flags = try? Acceptance(token, keytab: keytab, channelBindings: Self.bindings).flags
            #expect(flags?.contains(.channelBound) != true)
        }
    }

    // MARK: Mutual authentication

    @Test func `the server must authenticate itself by default`() async throws {
        let home = try await makeHome()
        let grant = try await home.makeExtension().grant(origin: origin)
        let server = try Acceptance(grant.token, keytab: home.realm.keytabPath)
        #expect(server.flags.contains(.mutualAuthentication))
        #expect(try await grant.exchange.respond(to: server.reply) == .established)
    }

    /// P41: the response that a relay without the service's key can send.
    @Test func `accept-completed without an AP-REP does not authenticate the server`() async throws {
        let grant = try await makeHome().makeExtension().grant(origin: origin)
        let answer = try #require(Data(base64Encoded: "oRQwEqADCgEAoQsGCSqGSIb3EgECAg=="))
        #expect(await authorizationError { try await grant.exchange.respond(to: Array(answer)) }?.code == .mutualAuthenticationFailed)
    }

    @Test(arguments: [true, false])
    func `without mutual authentication the server sends no proof`(byProfile: Bool) async throws {
        var home = try await makeHome()
        if byProfile { home.options.configurations[0].noMutualAuthenticationHosts = [try HostRule("www.example.test")] }
        let grant = try await home.makeExtension().grant(origin: origin, mutualAuthentication: byProfile ? nil : .off)
        let server = try Acceptance(grant.token, keytab: home.realm.keytabPath)
        #expect(!server.flags.contains(.mutualAuthentication))
        #expect(!grant.exchange.isDelegated)
        // A client may ignore the reply; checking it succeeds.
        #expect(try await grant.exchange.respond(to: server.reply) == .established)
    }

    @Test(
        arguments: [(.off, .required, true), (.off, .optional, true), (.required, .off, false), (.required, nil, true)]
            as [(MutualAuthentication, MutualAuthentication?, Bool)]
    )
    func `the caller's mutual authentication setting overrides the profile's`(
        profile: MutualAuthentication,
        caller: MutualAuthentication?,
        isAskedForProof: Bool
    ) async throws {
        var home = try await makeHome()
        if profile == .off { home.options.configurations[0].noMutualAuthenticationHosts = [try HostRule("www.example.test")] }
        let grant = try await home.makeExtension().grant(origin: origin, mutualAuthentication: caller)
        let flags = try Acceptance(grant.token, keytab: home.realm.keytabPath).flags
        #expect(flags.contains(.mutualAuthentication) == isAskedForProof)
    }
}
