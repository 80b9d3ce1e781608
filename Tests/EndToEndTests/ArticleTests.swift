import AsyncHTTPClient
import Foundation
import HTTPTypes
import KerberosSSO
import KerberosTesting
import KerberosTestingTraits
import NIOCore
import NIOHTTP1
import NegotiateAsyncHTTPClient
import Testing

/// The guides of KerberosSSO.docc: their code is in ArticleExamples.swift, their tables are complete, and what they show works.
@Suite struct ArticleTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    private func article(_ name: String) throws -> String { try text("Sources/KerberosSSO/KerberosSSO.docc/\(name).md") }

    @Test(arguments: [("CommandLineTool", 5), ("Service", 4), ("BehindNginx", 2), ("TestingWithKDC", 5), ("ErrorCodes", 3)])
    func `every code block of a guide is in ArticleExamples.swift`(name: String, count: Int) throws {
        let own = lines(try text("Tests/EndToEndTests/ArticleExamples.swift"))
        let blocks = try article(name).components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
        #expect(blocks.count == count)
        for block in blocks { #expect(own.contains(lines(block)), "\(block) is not in ArticleExamples.swift") }
    }

    private func lines(_ text: String) -> String {
        // The formatter writes two spaces after `catch` before a condition.
        text.split(separator: "\n").filter { !$0.hasPrefix("import ") }
            .map { $0.trimmingCharacters(in: .whitespaces).replacing("  ", with: " ") }
            .joined(separator: "\n")
    }

    /// The page of the library has fragments too, which are compiled elsewhere or by a reader.
    @Test func `the exchange of the library's page is in ArticleExamples.swift`() throws {
        let blocks = try article("KerberosSSO").components(separatedBy: "```swift\n").compactMap { $0.components(separatedBy: "```").first }
        let exchange = try #require(blocks.first { $0.contains("NegotiateExchange(") })
        #expect(lines(try text("Tests/EndToEndTests/ArticleExamples.swift")).contains(lines(exchange)))
    }

    @Test(arguments: [
        ("KerberosError", ["Kerberos/Errors/KerberosError.swift"]),
        ("AuthorizationError", ["SignOnPolicy/Decision/AuthorizationError.swift"]),
        ("HTTPTransportError", ["HTTPNegotiate/Transport/HTTPTransportError.swift"]),
        ("ProfileError", ["ExtensionProfile/Reading/ProfileError.swift"]),
        ("DirectoryError", ["ActiveDirectory/DirectoryError.swift"]),
        ("KerberosTestingError", ["KerberosTesting/Realm/KerberosTestingError.swift"]),
    ])
    func `the table of an error's codes is complete`(error: String, sources: [String]) throws {
        let declared = try sources.flatMap { source in
            try text("Sources/\(source)").matches(of: /public static let (\w+) = (?:\w+\.)?Code\((?:rawValue|description):/).map {
                String($0.1)
            }
        }
        let section = try #require(
            try article("ErrorCodes").components(separatedBy: "\n## \(error)\n").last?.components(separatedBy: "\n## ").first
        )
        let documented = section.matches(of: /\| `(\w+)` \| \S.*\. \|/).map { String($0.1) }
        #expect(documented == declared)
    }

    @Test func `the table of products is complete`() throws {
        let manifest = try text("Package.swift")
        let declared = manifest.matches(of: /\.library\(name: "(\w+)"/).map { String($0.1) }
        let table = try #require(try article("Products").components(separatedBy: "\n\n").first { $0.hasPrefix("| product |") })
        let rows = table.split(separator: "\n").dropFirst(2).map {
            $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        #expect(rows.map { $0[0] } == declared.map { "`\($0)`" })
        for package in rows.flatMap({ $0[2].split(separator: ", ") }) where !package.hasPrefix("as ") && !package.isEmpty {
            #expect(manifest.contains("/\(package)\""), "\(package) is not in Package.swift")
        }
    }
}

/// Runs the code of the guides in a real realm.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost", "app"], scope: .test))
struct ArticleRunTests {
    private let realm: TestRealm
    private let profile: Profile

    init() throws {
        realm = try #require(TestRealm.current)
        profile = try Profile(realm: realm.name, hosts: ["localhost"], plainHTTPHosts: ["localhost"])
    }

    @Test func `the service of the guide checks its sign-in and gets a page`() async throws {
        let service = try await testedService(realm, profile)
        let uncovered = try #require(URL(string: "https://www.other.test/"))
        let error = await #expect(throws: AuthorizationError.self) { try await checkSignIn(service, to: uncovered) }
        #expect(error?.code == .notHandled)
        try await withProtectedWebServer(realm: realm) { server in
            try await checkSignIn(service, to: try #require(URL(string: server.url)))
            try await NegotiatingHTTPClient.withClient(extension: service) { http in
                let greeting = try await page("\(server.url)/hello", http)
                #expect(greeting == "Hello app@EXAMPLE.TEST\n")
            }
        }
    }

    @Test func `the exchange of the library's page verifies the server`() async throws {
        let sso = try await SingleSignOn(.inProcess(profile), environment: realm.environment)
        try await sso.signIn("alice", using: .password(Secret("secret")))
        try await withProtectedWebServer(realm: realm) { server in
            let url = try #require(URL(string: "\(server.url)/hello"))
            var statuses: [Int] = []
            let last = try await status(of: url, sso) { fields in
                var request = HTTPClientRequest(url: url.absoluteString)
                for field in fields { request.headers.add(name: field.name.rawName, value: field.value) }
                let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
                statuses.append(Int(response.status.code))
                return (statuses[statuses.count - 1], response.headers["WWW-Authenticate"])
            }
            #expect(last == 200)
            #expect(statuses == [401, 200])
        }
    }

    @Test func `the ticket check of the guide accepts a ticket and proves the server's identity`() async throws {
        let sso = try await SingleSignOn(.inProcess(profile), environment: realm.environment)
        try await sso.signIn("alice", using: .password(Secret("secret")))
        let check = TicketCheck(credential: try AcceptorCredential(keytab: realm.keytabPath, replayCache: .disabled))
        let request = AuthorizationRequest(url: try #require(URL(string: "https://localhost/")))
        guard case .headers(let grant) = try await sso.beginAuthorization(with: request) else {
            Issue.record("localhost is not handled")
            return
        }
        let user = try #require(try await check.user(grant.headers[.authorization]))
        #expect(user.principal == "alice@EXAMPLE.TEST")
        let text = try #require(user.proof?.dropFirst("Negotiate ".count))
        let proof = try #require(Data(base64Encoded: String(text)))
        #expect(try await grant.exchange.respond(to: Array(proof)) == .established)
    }

    @Test(arguments: [nil, "Basic YWxpY2U6c2VjcmV0", "Negotiate", "Negotiate ???"])
    func `the ticket check of the guide requests a ticket if there is none`(field: String?) async throws {
        let check = TicketCheck(credential: try AcceptorCredential(keytab: realm.keytabPath))
        #expect(try await check.user(field) == nil)
    }

    @Test func `the ticket check of the guide rejects an invalid ticket`() async throws {
        let check = TicketCheck(credential: try AcceptorCredential(keytab: realm.keytabPath))
        let error = await #expect(throws: KerberosError.self) { try await check.user("Negotiate YQ==") }
        #expect(error?.code == .invalidToken)
    }

    @Test func `the tests of the guide use another cache, and see an expired password`() async throws {
        let sso = try await SingleSignOn(.inProcess(profile), environment: realm.environment)
        try await sso.signIn("alice", using: .password(Secret("secret")))
        #expect(try await secondCache(realm, profile).sessions().sessions.isEmpty)
        try await expiredPassword(realm, sso)
    }
}
