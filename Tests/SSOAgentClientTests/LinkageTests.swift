import Foundation
import Subprocess
import Testing

/// Whoever uses the agent's client needs no libkrb5: neither the module nor any of this package's that it imports refers to it.
@Suite struct LinkageTests {
    private static let build = Bundle.main.executableURL?.deletingLastPathComponent() ?? URL(filePath: ".")

    /// What a module's objects leave to others to define.
    private func undefinedSymbols(of module: String) async throws -> [Substring] {
        let folder = Self.build.appending(path: "\(module).build")
        let objects = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".o") }
        try #require(!objects.isEmpty, "\(folder.path) has no objects")
        let result = try await run(
            .name("nm"),
            arguments: .init(["--undefined-only"] + objects.map { folder.appending(path: $0).path }),
            output: .string(limit: 64 << 20),
            error: .discarded
        )
        return result.standardOutput.split(whereSeparator: \.isWhitespace)
    }

    private func isKerberos(_ symbol: Substring) -> Bool {
        symbol.hasPrefix("krb5_") || symbol.hasPrefix("gss_") || symbol.hasPrefix("$s8Kerberos")
    }

    @Test(arguments: ["SSOAgentClient", "HTTPNegotiate"])
    func `the module refers to nothing of Kerberos`(module: String) async throws {
        #expect(try await undefinedSymbols(of: module).filter(isKerberos).isEmpty)
    }

    /// The look would find it.
    @Test func `the module that does is found`() async throws {
        #expect(try await undefinedSymbols(of: "Kerberos").contains(where: isKerberos))
    }
}
