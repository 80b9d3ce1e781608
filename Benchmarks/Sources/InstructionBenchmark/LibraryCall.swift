import BenchmarkSupport
import CFloor
import Foundation
import HTTPNegotiate
import Kerberos
import KerberosSSO
import KerberosTesting

/// A call of the libraries, which is repeated in a process of its own. The ticket is in the realm's default cache.
enum LibraryCall: String, CaseIterable {
    case floor, token, authorization, decision

    var title: String {
        switch self {
        case .floor: InstructionRecord.floor
        case .token: "token, synchronous call"
        case .authorization: "token through await, decision included"
        case .decision: "decision"
        }
    }

    private static let host = "localhost"

    func count(in realm: TestRealm) async throws -> Double {
        let copy = try await Self.withoutDebugInformation(try ownPath(), in: realm)
        return try await Callgrind.perRepetition { repetitions in
            let program = [copy, "call", rawValue, "\(repetitions)", realm.name]
            let command = try Callgrind.command(program, profile: rawValue)
            let result = try await realm.run(command[0], Array(command.dropFirst()), environment: Callgrind.environment)
            guard result.exitStatus == 0 else { throw Unavailable(reason: result.errors) }
            return try Callgrind.instructions(in: result.errors)
        }
    }

    /// A copy of this program, because valgrind 3.19 exits at debug information of DWARF 5.
    private static func withoutDebugInformation(_ program: String, in realm: TestRealm) async throws -> String {
        let copy = "\(realm.directory)/calls"
        guard !FileManager.default.fileExists(atPath: copy) else { return copy }
        let result = try await realm.run("strip", ["--strip-debug", "-o", copy, program])
        guard result.exitStatus == 0 else { throw Unavailable(reason: result.errors) }
        return copy
    }

    /// The process itself.
    static func run(_ arguments: ArraySlice<String>) async throws {
        let words = Array(arguments)
        guard words.count == 3, let call = LibraryCall(rawValue: words[0]), let repetitions = Int(words[1]),
            let cache = ProcessInfo.processInfo.environment["KRB5CCNAME"], let url = URL(string: "http://\(host)/")
        else { throw Unavailable(reason: "call: wrong arguments") }
        let realm = words[2]
        switch call {
        case .floor: try makeFloorTokens(repetitions, cache, realm)
        case .token: try await makeTokens(repetitions, cache, realm)
        case .authorization:
            let (sso, request) = (try await signedIn(realm), AuthorizationRequest(url: url))
            for _ in 0..<repetitions {
                guard case .headers = try await sso.beginAuthorization(with: request) else { throw Unavailable(reason: "not handled") }
            }
        case .decision:
            let sso = try await signedIn(realm)
            for _ in 0..<repetitions where sso.decision(for: url).plan == nil { throw Unavailable(reason: "not handled") }
        }
    }

    private static func makeFloorTokens(_ repetitions: Int, _ cache: String, _ realm: String) throws {
        guard let floor = cfloor_open(cache, "HTTP/\(host)@\(realm)") else { throw Unavailable(reason: "the C floor did not open") }
        defer { cfloor_close(floor) }
        for _ in 0..<repetitions where cfloor_token(floor) == 0 { throw Unavailable(reason: "the C floor made no token") }
    }

    private static func makeTokens(_ repetitions: Int, _ cache: String, _ realm: String) async throws {
        let client = KerberosClient(RealmConfiguration(realm: realm))
        let service = try Principal("HTTP/\(host)@\(realm)")
        let ticket = try await client.serviceTicket(for: service, in: CredentialCacheName(rawValue: cache))
        let credential = try await client.initiatorCredential(for: ticket)
        for _ in 0..<repetitions {
            guard case .proceed = try SPNEGOInitiator.begin(with: credential) else { throw Unavailable(reason: "established too early") }
        }
    }

    private static func signedIn(_ realm: String) async throws -> SingleSignOn {
        let text = """
            ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension
            Type: Credential
            Realm: \(realm)
            Hosts: [\(host)]
            PlainHTTPHosts: [\(host)]

            """
        let profile = try Profile(data: Data(text.utf8), source: "benchmark")
        return try await SingleSignOn(.inProcess(profile), environment: ProcessInfo.processInfo.environment)
    }
}
