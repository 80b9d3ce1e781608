import KerberosTesting
import SignOnDiagnosis
import TestSupport
import Testing

/// Gives a suite a domain of Active Directory in ``current``, which is also `TestRealm.current`.
struct TestDomainTrait: SuiteTrait, TestScoping {
    @TaskLocal static var current: TestDomain?

    let options: TestDomainOptions

    var isRecursive: Bool { false }

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        try await withTestDomain(options) { domain in
            try await Self.$current.withValue(domain) { try await function() }
        }
    }
}

extension Trait where Self == TestDomainTrait {
    /// A domain with these accounts, services and sites.
    static func testDomain(_ options: TestDomainOptions) -> TestDomainTrait { TestDomainTrait(options: options) }
}

extension Trait where Self == ConditionTrait {
    /// Skips the tests, and says why, where no domain can be run.
    static var needsDomain: ConditionTrait {
        .enabled(if: TestDomain.obstacle == nil, "no Active Directory domain can be run here: \(TestDomain.obstacle ?? "")")
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the tests, and says why, where a process cannot have a name server of its own.
    static var needsNameServer: ConditionTrait {
        .enabled(if: OwnAuthorities.arePossible, "this needs a mount namespace with another resolv.conf")
    }
}

extension Workstation {
    /// Runs `ksso` as on a machine whose name server is the domain's, and whose krb5.conf names no KDC.
    func ksso(
        in domain: TestDomain,
        _ arguments: String...,
        input: String? = nil,
        environment: [String: String] = [:]
    ) async throws -> CommandResult {
        try await ksso(in: domain, arguments, input: input, environment: environment)
    }

    /// The same with a list of arguments.
    func ksso(
        in domain: TestDomain,
        _ arguments: [String],
        input: String? = nil,
        environment: [String: String] = [:]
    ) async throws -> CommandResult {
        let own = try discovering(domain).merging(environment) { $1 }
        return try await run(try command(["ksso"] + arguments, in: domain), input: input, environment: own)
    }

    /// Runs a shell script on such a machine.
    func script(_ script: String, in domain: TestDomain, input: String? = nil) async throws -> CommandResult {
        try await run(try command(["sh", "-c", script], in: domain), input: input, environment: try discovering(domain))
    }

    /// The diagnosis of `ksso doctor` on such a machine.
    func doctor(in domain: TestDomain, environment: [String: String] = [:]) async throws -> Diagnosis {
        let prefix = try command([], in: domain)
        return try await doctor(environment: try discovering(domain).merging(environment) { $1 }) { prefix + $0 }
    }

    /// The command with a resolv.conf of its own.
    private func command(_ words: [String], in domain: TestDomain) throws -> [String] {
        let file = try write("nameserver \(domain.address)\n", to: "resolv.conf")
        return ["unshare", "--mount", "sh", "-c", "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"", file] + words
    }

    private func discovering(_ domain: TestDomain) throws -> [String: String] {
        let configuration = "[libdefaults]\n default_realm = \(domain.realm.name)\n dns_lookup_kdc = true\n"
        return [
            "KRB5_CONFIG": try write(configuration, to: "domain.conf"), "XDG_CACHE_HOME": "\(directory)/cached",
            // On a busy machine, a controller may answer late.
            "KSSO_SITE_TIMEOUT": "20",
        ]
    }
}
