internal import Foundation
internal import HTTPNegotiate
internal import KerberosEngine
internal import KerberosSSO

/// The variables with which stock Kerberos programs share our tickets, and the configuration file they name.
struct KerberosEnvironment {
    let variables: [(name: String, value: String)]

    /// Writes the configuration file and finds the cache of the default session.
    init(_ sso: SingleSignOn, environment: [String: String]) async throws {
        let runtime = PrivateDirectory(path: RuntimeDirectory(environment: environment).path)
        guard runtime.make() else {
            throw CommandFailure(.failed, "\(runtime.path): the folder can't be made, or others can write to it. Set KSSO_RUNTIME_DIR.")
        }
        let realm = try await sso.kerberos.defaultRealm()
        let sessions = try await sso.sessions().sessions
        let session = sessions.first { $0.realm == realm && $0.isDefault } ?? sessions.first(where: \.isDefault)
        var variables: [(name: String, value: String)] = []
        if !sso.kerberos.policy.configurations.isEmpty {
            let text = KerberosConfigurationFile(sso.kerberos.policy.configurations, defaultRealm: realm).text
            // A name for its content: a command that runs under other profiles keeps its own.
            let path = "\(runtime.path)/\(Self.filePrefix)\(Self.fingerprint(text)).conf"
            do {
                try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
            } catch {
                throw CommandFailure(.failed, "\(path): the file can't be written.")
            }
            let base = environment["KRB5_CONFIG"].map { Self.withoutOurs(runtime.path, in: $0) } ?? "/etc/krb5.conf"
            variables.append(("KRB5_CONFIG", base.isEmpty ? path : "\(path):\(base)"))
        }
        if let session { variables.append(("KRB5CCNAME", session.cache.rawValue)) }
        self.variables = variables
    }

    private static let filePrefix = "krb5-"

    /// `ksso exec` inside `ksso exec` must not name our file twice.
    private static func withoutOurs(_ runtime: String, in list: String) -> String {
        list.split(separator: ":").filter { !$0.hasPrefix("\(runtime)/\(filePrefix)") }.joined(separator: ":")
    }

    /// FNV-1a of 64 bits: the same in every process, and nothing that must hold against an attacker, since only the user writes there.
    private static func fingerprint(_ text: String) -> String {
        let hash = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }
}
